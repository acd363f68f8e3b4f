/** JSON Web Tokens, as far as they are used here: signed with HS256, and with nothing else. */

import { createHmac, timingSafeEqual } from 'node:crypto';

export type Claims = Readonly<Record<string, unknown>>;

const HEADER = encoded({ alg: 'HS256', typ: 'JWT' });
const MAX_CHARS = 4_096;

export function signed(claims: Claims, secret: string): string {
  const text = `${HEADER}.${encoded(claims)}`;
  return `${text}.${signatureOf(text, secret).toString('base64url')}`;
}

/** What a token says when its signature is ours; whether it still counts is the caller's to judge. */
export function claimsOf(token: string, secret: string): Claims | null {
  if (token.length > MAX_CHARS) return null;
  const [header, payload, signature, ...more] = token.split('.');
  if (header === undefined || payload === undefined || signature === undefined || more.length > 0)
    return null;
  // Judged before anything of it is read: what was not signed here says nothing.
  const given = Buffer.from(signature, 'base64url');
  const own = signatureOf(`${header}.${payload}`, secret);
  if (given.length !== own.length || !timingSafeEqual(given, own)) return null;
  return decoded(header)?.['alg'] === 'HS256' ? decoded(payload) : null;
}

function signatureOf(text: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}

function encoded(value: Claims): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decoded(part: string): Claims | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Claims) : null;
  } catch {
    return null;
  }
}
