/** Who calls at the bridge: whoever has a token and, where the operator wants it, any program on this machine. */

import type { Actor } from '../../../domain/command.ts';
import { type Auth, bearerTokens, type Callers } from '../../auth.ts';
import { isOfOtherPage } from '../../security.ts';

/** A program on this machine that sent no token: the text's own workers and curl lines do not. */
const NEIGHBOUR: Actor = { name: 'bridge', role: 'head', targets: null };

export const tokensOrLoopback: Auth = {
  ...bearerTokens,
  name: 'tokenOrLoopback',
  scheme: {
    ...bearerTokens.scheme,
    description: 'A token, or none from this machine where SPINE_BRIDGE_AUTH is loopback.',
  },
  open: (parts) => {
    const tokens = bearerTokens.open(parts);
    if (!parts.letsNeighboursIn) return tokens;
    return {
      ...tokens,
      known: (request) => tokens.known(request) ?? (isNeighbour(request) ? NEIGHBOUR : null),
    };
  },
};

const LOOPBACK = /^(?:::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/;
const OWN_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;
/** Whoever sends one of these speaks for somebody who may be anywhere. */
const PROXIED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'] as const;

/** A wrong token is a wrong token, and a page that the operator lets call does so by a token alone. */
function isNeighbour({ headers, socket }: Parameters<Callers['known']>[0]): boolean {
  return (
    headers.authorization === undefined &&
    LOOPBACK.test(socket.remoteAddress ?? '') &&
    OWN_NAME.test(headers.host ?? '') &&
    PROXIED.every((name) => headers[name] === undefined) &&
    !isOfOtherPage(headers)
  );
}
