/** What is known about failures: what a model made of them, what asking cost, and how often they came in a row. */

import type { Dialect } from './dialect.ts';

export function failures(dialect: Dialect): string {
  const { int, numbered, byNumber, byKey } = dialect;
  return `
-- What a model made of failures with one fingerprint. It is asked once for all of them.
create table verdict (
  fingerprint text primary key,
  body text not null,          -- one of the failures, as it was reported
  wanted_at ${int},            -- null: nobody waits for it
  asked_until ${int},          -- somebody is asking; after this another one may
  asks ${int} not null,        -- how often it was asked for this verdict
  decision text,               -- retry, skip or none
  words text,
  decided_at ${int},
  good_until ${int} not null   -- after this it is asked for again
)${byKey};
create index verdict_wanted on verdict (wanted_at) where wanted_at is not null;
create index verdict_by_age on verdict (good_until);

-- A job that ended badly and waits for a verdict, for a while.
create table consultation (
  job_no ${int} primary key,
  fingerprint text not null,
  until_at ${int} not null
)${byNumber};

-- A call of a model, and what it cost.
create table model_call (
  no ${numbered},
  at ${int} not null,
  purpose text not null,       -- advice
  subject text not null,       -- the fingerprint
  model text not null,
  input_tokens ${int} not null,
  output_tokens ${int} not null,
  took_ms ${int} not null,
  error text
)${byNumber};
create index model_call_by_age on model_call (at);

-- The last failures of a type, as long as each is like the one before.
create table streak (
  type_no ${int} primary key,
  fingerprint text not null,
  roots text not null          -- JSON: the lineages that failed so, by the numbers of their first jobs
)${byNumber};

-- A provider that was at its limit.
create table provider_limit (
  provider text primary key,
  until_at ${int} not null,
  strikes ${int} not null      -- how many limits came one soon after the other
)${byKey};
`;
}
