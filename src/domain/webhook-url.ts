/** Which URLs a webhook may have, as far as the text tells; a name is judged by its addresses when it is called. */

import { isAddress, isInner } from './inner-address.ts';

export const WEBHOOK_URL_CHARS = 2_000;

/** Why it may not be called; null when the text allows it. `allowedHosts` may be called wherever they lead. */
export function webhookUrlProblem(text: string, allowedHosts: readonly string[]): string | null {
  if (text.length > WEBHOOK_URL_CHARS) return `is longer than ${WEBHOOK_URL_CHARS} characters`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return 'is not an http:// or https:// URL';
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password';
  if (isAllowedHost(url.hostname, allowedHosts)) return null;
  if (isLocalName(url.hostname) || (isAddress(url.hostname) && isInner(url.hostname))) return INNER_PROBLEM;
  return null;
}

export const INNER_PROBLEM =
  'leads to an inner address, which may not be called; SPINE_WEBHOOK_ALLOWED_HOSTS names hosts that may be called all the same';

/** Settings name an IPv6 address without brackets. */
export function isAllowedHost(hostname: string, allowedHosts: readonly string[]): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return allowedHosts.some((allowed) => allowed === host || plainHost(allowed) === host);
}

function plainHost(allowed: string): string {
  const written = allowed.includes(':') ? `[${allowed}]` : allowed;
  return URL.canParse(`http://${written}`)
    ? new URL(`http://${written}`).hostname.replace(/^\[|\]$/g, '')
    : allowed;
}

function isLocalName(hostname: string): boolean {
  return /(?:^|\.)localhost\.?$/.test(hostname);
}
