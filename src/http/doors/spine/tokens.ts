/** Who may call, and who did what: tokens, the record of administrative acts, the settings. */

import { LIMITS } from '../../../domain/limits.ts';
import type { Engine } from '../../../engine/engine.ts';
import { AuditEntries, NewToken, Settings, TokenRevoked, Tokens } from './answers.ts';
import { pageOf } from '../../page.ts';
import { route, type Route } from '../../routes.ts';
import { AuditQuery, TokenBody, TokenParams } from './schemas.ts';
import { iso } from '../../iso.ts';

type Token = Awaited<ReturnType<Engine['tokens']['list']>>[number];

const HEAD = ['head'] as const;
const PAGE = 100;
/** What an entry takes beside its facts. */
const ENTRY_BYTES = 150;
export const tokenRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tokens',
    name: 'listTokens',
    about: 'List the tokens beyond those of the environment; the tokens themselves are never shown again.',
    who: HEAD,
    answer: Tokens,
    handle: async ({ engine }) => ({ tokens: (await engine.tokens.list()).map(tokenView) }),
  }),
  route({
    method: 'POST',
    path: '/tokens',
    name: 'addToken',
    about: 'Make a token; it is shown this once.',
    who: HEAD,
    body: TokenBody,
    status: 201,
    answer: NewToken,
    errors: ['conflict'],
    handle: async ({ engine, actor, body }) => {
      const { name, role, targets = null, grants = [] } = body;
      const { token, stored } = await engine.tokens.add(actor, { name, role, targets, grants });
      const { revokedAt: _, ...shown } = tokenView(stored);
      return { token, ...shown };
    },
  }),
  route({
    method: 'DELETE',
    path: '/tokens/:token',
    name: 'revokeToken',
    about: 'Revoke a token, by its id or name; calls and open streams with it end at once.',
    who: HEAD,
    params: TokenParams,
    answer: TokenRevoked,
    errors: ['not_found'],
    handle: async ({ engine, actor, params: { token = '' } }) => {
      await engine.tokens.revoke(actor, token);
      return { token, revoked: true };
    },
  }),
  route({
    method: 'GET',
    path: '/audit',
    name: 'listAudit',
    about: 'Read the record of administrative acts, newest first.',
    who: HEAD,
    query: AuditQuery,
    answer: AuditEntries,
    handle: async (call) => {
      const { before = null, limit = PAGE } = call.query;
      const { items: entries, next } = await pageOf(call, {
        limit,
        itemBytes: LIMITS.errorChars,
        start: before,
        read: (from, count) => call.engine.audit.list(from, count),
        cursorOf: ({ no }) => no,
        bytesOf: ({ facts }) => ENTRY_BYTES + (facts === null ? 0 : JSON.stringify(facts).length),
      });
      return {
        entries: entries.map(({ no, at, by, action, subject, facts }) => ({
          no,
          t: iso(at),
          by,
          action,
          subject,
          facts,
        })),
        nextBefore: next,
      };
    },
  }),
  route({
    method: 'GET',
    path: '/config',
    name: 'getConfig',
    about: 'Read every setting in force and where it comes from; secrets are masked.',
    who: HEAD,
    answer: Settings,
    handle: async ({ parts }) => ({ settings: parts.settings() }),
  }),
];

function tokenView({ id, name, role, targets, grants, createdAt, createdBy, revokedAt }: Token) {
  return {
    id,
    name,
    role,
    targets,
    grants: grants ?? [],
    createdAt: iso(createdAt),
    createdBy,
    revokedAt: revokedAt === null ? null : iso(revokedAt),
  };
}
