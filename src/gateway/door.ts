/** Where a gateway is, and what its HTTP endpoints want to see. */

import type { Clock } from '../domain/ports.ts';
import { DEFAULT_LIMITS, type GatewayLimits, type GatewayOptions } from './types.ts';

export interface Door {
  readonly url: URL;
  readonly token: string | null;
  readonly hookToken: string | null;
  readonly cli: string;
  readonly clock: Clock;
  readonly limits: GatewayLimits;
}

export function doorOf({ url, token, hookToken, cli, clock, limits }: GatewayOptions): Door {
  return { url: new URL(url), token, hookToken, cli, clock, limits: { ...DEFAULT_LIMITS, ...limits } };
}

/** `path` below the gateway's address, which may have a path of its own behind a proxy. */
export function at(door: Door, path: string): URL {
  const url = new URL(door.url);
  url.pathname = url.pathname.replace(/\/$/, '') + path;
  return url;
}

/** The scope is named because a gateway grants an HTTP caller none by itself; without a token it means nothing. */
export function credentials(door: Door): Record<string, string> {
  if (door.token === null) return {};
  return { authorization: `Bearer ${door.token}`, 'x-openclaw-scopes': 'operator.write' };
}
