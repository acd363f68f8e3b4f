/** What belongs to the installation as a whole: its servers, its tokens, who changed what. */

import type { Dialect } from './dialect.ts';

export function installation(dialect: Dialect): string {
  const { int, numbered, byNumber, byKey } = dialect;
  return `
-- Single facts: who this installation is, what was imported.
create table meta (
  name text primary key,
  value text not null
)${byKey};

-- When each server last said that it is there.
create table alive (
  name text primary key,
  beat_at ${int} not null
)${byKey};

-- Rises when something changes that servers remember. Whoever changes the parents of schedules holds the row of
-- chains; whoever adds agents, or sends something to all of them, that of agents.
create table revision (
  name text primary key,
  value ${int} not null
)${byKey};
insert into revision (name, value) values ('routing', 1), ('tokens', 1), ('chains', 1), ('agents', 1);

-- A token that was made here; those of the environment are not in the database.
create table token (
  id text primary key,
  name text not null,
  role text not null,
  targets text,                -- JSON; null: all
  grants text,                 -- JSON: kinds of messages that it may send to other agents; null: those that need none
  hash text not null unique,   -- the token itself is kept nowhere
  created_at ${int} not null,
  created_by text not null,
  revoked_at ${int},
  revoked_by text
)${byKey};
create unique index token_by_name on token (name) where revoked_at is null;

-- An administrative act.
create table audit (
  no ${numbered},
  at ${int} not null,
  actor text not null,
  action text not null,
  subject text not null,
  facts text                   -- JSON
)${byNumber};
create index audit_by_age on audit (at);
`;
}
