/** JSON as it comes in: strict, and cheap for the bodies that are as they should be. */

import { isUtf8 } from 'node:buffer';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';

/** An empty body reads as an empty object; a route that needs fields names the missing one. */
export function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  if (!isUtf8(bytes)) throw badJson('The body is not valid UTF-8.');
  const text = bytes.toString('utf8');
  refuseDepth(text);
  const value = parse(text);
  if (mayBeHostile(text)) refuseHostile(value);
  return value;
}

function badJson(message: string): SpineError {
  return new SpineError('bad_json', {}, { message });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // JSON.parse throws nothing but SyntaxError, whose message says where.
    throw new SpineError(
      'bad_json',
      {},
      { cause, message: `The body is not valid JSON: ${(cause as Error).message}.` },
    );
  }
}

/** Few bodies have as many brackets as levels are allowed; only those are looked at in full. */
function refuseDepth(text: string): void {
  if (!hasManyBrackets(text)) return;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) at = endOfString(text, at);
    else if (char === OPEN_BRACE || char === OPEN_BRACKET) depth++;
    else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) depth--;
    if (depth > LIMITS.jsonDepth)
      throw badJson(`The body is nested more than ${LIMITS.jsonDepth} levels deep at position ${at}.`);
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

function hasManyBrackets(text: string): boolean {
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++count > LIMITS.jsonDepth) return true;
    }
  }
  return false;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** Valid UTF-8 can hide a NUL, half a character or a spelled-out key only behind a \u escape. */
function mayBeHostile(text: string): boolean {
  return text.includes('\\u') || text.includes('__proto__') || text.includes('constructor');
}

function refuseHostile(value: unknown): void {
  const problem = findHostile(value, '');
  if (problem === null) return;
  throw new SpineError(
    'bad_request',
    { field: problem.place },
    { message: `${problem.place} ${problem.what}.` },
  );
}

interface Problem {
  readonly place: string;
  readonly what: string;
}

/** The depth was checked before, so recursion is bounded. */
function findHostile(value: unknown, place: string): Problem | null {
  if (typeof value === 'string') {
    const what = hostileText(value);
    return what === null ? null : { place: place || 'The body', what };
  }
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return firstHostile(value.map((item, index) => [`${place}[${index}]`, item]));
  const entries = Object.entries(value);
  for (const [key, item] of entries) {
    const what = hostileText(key)
      ? 'has a field whose name holds a NUL or half a character'
      : hostileKey(key, item);
    if (what) return { place: place || 'The body', what };
  }
  return firstHostile(entries.map(([key, item]) => [place ? `${place}.${key}` : key, item]));
}

function firstHostile(places: readonly (readonly [string, unknown])[]): Problem | null {
  for (const [place, item] of places) {
    const problem = findHostile(item, place);
    if (problem) return problem;
  }
  return null;
}

function hostileText(text: string): string | null {
  if (text.includes('\0')) return 'holds a NUL character';
  return text.isWellFormed() ? null : 'holds half a character (a lone surrogate)';
}

function hostileKey(key: string, value: unknown): string | null {
  if (key === '__proto__') return 'has a field named __proto__';
  if (key !== 'constructor' || typeof value !== 'object' || value === null) return null;
  return Object.hasOwn(value, 'prototype') ? 'has a field named constructor.prototype' : null;
}
