/** Where a gateway is, and what its HTTP endpoints want to see. */

import type { Clock } from '../domain/ports.ts';
import { DEFAULT_LIMITS, type GatewayLimits, type GatewayOptions } from './types.ts';

export interface Access {
  readonly url: URL;
  readonly token: string | null;
  readonly hookToken: string | null;
  readonly cli: string;
  readonly cliEnv: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly limits: GatewayLimits;
}

export function accessOf({ url, limits, ...options }: GatewayOptions): Access {
  const { token, hookToken, cli, cliEnv, clock } = options;
  return {
    url: new URL(url),
    token,
    hookToken,
    cli,
    cliEnv,
    clock,
    limits: { ...DEFAULT_LIMITS, ...limits },
  };
}

/** `path` below the gateway's address, which may have a path of its own behind a proxy. */
export function at(access: Access, path: string): URL {
  const url = new URL(access.url);
  url.pathname = url.pathname.replace(/\/$/, '') + path;
  return url;
}

/** The scope is named because a gateway grants an HTTP caller none by itself; without a token it means nothing. */
export function credentials(access: Access): Record<string, string> {
  if (access.token === null) return {};
  return { authorization: `Bearer ${access.token}`, 'x-openclaw-scopes': 'operator.write' };
}
