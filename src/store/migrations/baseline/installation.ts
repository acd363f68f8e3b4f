/** What belongs to the installation as a whole: its servers, its tokens, who changed what. */

import type { Dialect } from './dialect.ts';

export function installation(dialect: Dialect): string {
  const { int, flag, numbered, byNumber, byKey } = dialect;
  return `
-- Single facts: who this installation is, what was imported.
create table meta (
  name text primary key,
  value text not null
)${byKey};

-- When each server last said that it is there, and what it serves.
create table alive (
  name text primary key,
  beat_at ${int} not null,
  gateways text                -- JSON: those that it hands work to; null: not known yet
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

-- Who logs in with an email address and a password. Rows stay when somebody is removed: work names them.
create table user_account (
  id text primary key,
  email text not null,
  email_key text not null unique,  -- the address as it is compared
  full_name text not null,
  timezone text not null,
  name text not null unique,       -- who it is as a worker, an agent and an author
  password_hash text not null,
  password_at ${int} not null,     -- what was handed out before counts no more
  admin ${flag} not null,
  worker ${flag} not null,
  active ${flag} not null,
  created_at ${int} not null,
  last_login_at ${int},
  last_activity_at ${int}          -- its last call as a worker
)${byKey};

-- What a user may stay logged in by, until it logs out.
create table refresh_token (
  id text primary key,
  user_id text not null,
  created_at ${int} not null,
  expires_at ${int} not null
)${byKey};
create index refresh_token_by_user on refresh_token (user_id, created_at);
create index refresh_token_by_end on refresh_token (expires_at);

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
