/** What is refused before anything else is looked at: foreign hosts, foreign pages, compressed bodies. */

import type { IncomingHttpHeaders } from 'node:http';
import { SpineError } from '../domain/error.ts';
import type { Origins } from './origins.ts';

/** An API answer is never a page: nothing in it may load, run, or be framed. */
export const SECURITY_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

export interface Arrival {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The address of ours that the connection came in on. */
  readonly localAddress: string | undefined;
}

export type Guard = (arrival: Arrival) => SpineError | null;

const OWN_NAMES = ['localhost', '127.0.0.1', '[::1]'];

export function guard(allowedHosts: readonly string[], origins: Pick<Origins, 'has'>): Guard {
  const names = new Set([...OWN_NAMES, ...allowedHosts.map(asHostName)]);
  return (arrival) =>
    hostProblem(arrival, names) ??
    (origins.has(arrival.headers.origin) ? null : originProblem(arrival)) ??
    encodingProblem(arrival.headers['content-encoding']);
}

/** A page that makes its own name point here (DNS rebinding) still sends that name as the Host. */
function hostProblem({ headers, localAddress }: Arrival, names: ReadonlySet<string>): SpineError | null {
  const name = hostNameOf(headers.host ?? '');
  if (names.has(name)) return null;
  // An address cannot be rebound: whoever calls us by the one he reached means us.
  if (localAddress !== undefined && name === asHostName(localAddress.replace(/^::ffff:(?=\d+\.)/, '')))
    return null;
  return new SpineError(
    'bad_host',
    {},
    { message: `This server does not answer for the Host ${JSON.stringify(name)}.` },
  );
}

function hostNameOf(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}

function asHostName(host: string): string {
  const name = host.toLowerCase();
  return name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
}

/** Programs send neither header. Of browsers only our own pages may call unless others are allowed, and links may lead here. */
function originProblem({ method, headers }: Arrival): SpineError | null {
  if (headers.origin !== undefined && !isOwnOrigin(headers.origin, headers.host))
    return new SpineError('bad_origin');
  if (!isFromOtherSite(headers)) return null;
  const isLink =
    method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return isLink ? null : new SpineError('bad_origin');
}

/** Whether a browser sent it for a page that does not come from here, allowed or not. */
export function isOfOtherPage(headers: IncomingHttpHeaders): boolean {
  return (
    (headers.origin !== undefined && !isOwnOrigin(headers.origin, headers.host)) || isFromOtherSite(headers)
  );
}

function isFromOtherSite(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

function isOwnOrigin(origin: string, host: string | undefined): boolean {
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`);
}

/** Unpacking would let a small request become a huge one. */
function encodingProblem(encoding: string | undefined): SpineError | null {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return null;
  return new SpineError('unsupported_media_type', {}, { message: 'Compressed bodies are not accepted.' });
}
