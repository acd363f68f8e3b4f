/** What somebody is told whose token is known and may not do this: which roles may. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { Route } from './routes.ts';

export type RefusedRoute = Pick<Route, 'who' | 'v0' | 'condition'>;

/** v0 says 401 to whoever has the wrong role as to whoever has no token, and its own routes go on to. */
export function wrongRole({ role, shown }: Actor, { who, v0, condition }: RefusedRoute): SpineError {
  const roles: readonly string[] = who === 'anyone' ? [] : who;
  const problem = roles.includes(role)
    ? (shown && SHOWN) || condition || NOT_SO
    : `Your token is of the role ${role}; this is for ${listed(roles)}.`;
  return new SpineError(v0 ? 'unauthorized' : 'wrong_role', { code: 'wrong_role', role, roles, problem });
}

const SHOWN = 'Your token stands in a prompt, where others may read it: it opens few calls.';
const NOT_SO = 'Your role may do this, but not in this way.';

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
