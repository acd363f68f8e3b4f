/** What leaves the house for people, and who wants to be told of what. */

import type { Dialect } from './dialect.ts';

export function delivery(dialect: Dialect): string {
  const { int, numbered, byNumber, byKey } = dialect;
  return `
-- Somebody who wants to be told of some events of some jobs.
create table subscription (
  no ${numbered},
  id text not null,
  alias text not null,
  events text not null,        -- JSON
  type_no ${int},              -- from here on: which jobs; null: any
  schedule_id text,
  target text,
  job_no ${int},
  created_at ${int} not null,
  created_by text not null
)${byNumber};
create unique index subscription_by_id on subscription (id);
create index subscription_by_job on subscription (job_no) where job_no is not null;
insert into revision (name, value) values ('subscriptions', 1);

-- A text for somebody outside, and what became of it.
create table delivery (
  no ${numbered},
  id text not null,            -- the same for every try, so that receivers can drop repeats
  kind text not null,          -- result, failure, approval, question, event, gap, chat, budget, digest, reply or press
  job_no ${int},
  alias text,                  -- the name that led to the place
  channel text not null,
  target text not null,
  address text not null,       -- both in one: what goes to one address goes in order
  body text,                   -- null once it was delivered
  buttons text,                -- JSON: what people can press below it
  status text not null,        -- pending, delivered or failed
  attempts ${int} not null,
  parts_sent ${int} not null,  -- of a text that goes in several messages
  proof text,                  -- JSON: what the other side answered
  error text,
  created_at ${int} not null,
  due_at ${int} not null,      -- not before; later than its making where lines wait for others to go with
  delivered_at ${int}
)${byNumber};
create unique index delivery_by_id on delivery (id);
create index delivery_waiting on delivery (address, no) where status = 'pending';
create index delivery_by_status on delivery (status, no);
create index delivery_by_age on delivery (created_at);
create index delivery_by_job on delivery (job_no) where job_no is not null;

-- An address for which deliveries wait. Whoever sends the first of them takes the row, and puts run_at ahead before.
create table delivery_address (
  address text primary key,
  run_at ${int} not null,
  failures ${int} not null,    -- in a row; the wait grows with them
  waiting ${int} not null,     -- how much: a line of the chat is 1, anything else 10
  left_out ${int} not null     -- how many found no room since the receiver was last told
)${byKey};
create index delivery_address_due on delivery_address (run_at);

-- A bot whose chat people write commands in, and the server that reads it: one at a time.
create table chat_reader (
  bot text primary key,
  next_update ${int} not null, -- everything before it is done; raised in the commit that does a command
  heard_at ${int} not null,    -- when a command was read last
  reader text,                 -- the server
  reader_until ${int} not null
)${byKey};
`;
}
