/** JSON as it comes in: strict, and cheap for the bodies that are as they should be. */

import { isUtf8 } from 'node:buffer';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';

/** Each step of reading a megabyte takes up to 50 ms, so that others are served between those of a larger body. */
export const LARGE_BYTES = 131_072;

/** An empty body reads as an empty object; a route that needs fields names the missing one. */
export function parseBody(bytes: Buffer): unknown {
  const { text, value } = read(bytes);
  if (mayBeHostile(text)) refuseHostile(value);
  return value;
}

/** The same with a rest before, between and after. */
export async function parseLargeBody(bytes: Buffer): Promise<unknown> {
  await nextTurn();
  const { text, value } = read(bytes);
  await nextTurn();
  if (mayBeHostile(text)) refuseHostile(value);
  await nextTurn();
  return value;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function read(bytes: Buffer): { text: string; value: unknown } {
  if (bytes.length === 0) return { text: '', value: {} };
  if (!isUtf8(bytes)) throw badJson('The body is not valid UTF-8.');
  const text = bytes.toString('utf8');
  refuseBrackets(text);
  return { text, value: parse(text) };
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
function refuseBrackets(text: string): void {
  if (!hasManyBrackets(text)) return;
  let depth = 0;
  let containers = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) at = endOfString(text, at);
    else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      depth++;
      containers++;
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) depth--;
    if (depth > LIMITS.jsonDepth)
      throw badJson(`The body is nested more than ${LIMITS.jsonDepth} levels deep at position ${at}.`);
  }
  if (containers > LIMITS.jsonContainers)
    throw badJson(`The body has more than ${LIMITS.jsonContainers} objects and lists.`);
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
  const problem = findHostile(value);
  if (problem === null) return;
  const field = problem.place || 'The body';
  throw new SpineError('bad_request', { field }, { message: `${field} ${problem.what}.` });
}

interface Problem {
  readonly place: string;
  readonly what: string;
}

/**
 * The depth was checked before, so recursion is bounded. Most bodies have nothing to tell of, so that places are put
 * together only on the way back from a problem.
 */
function findHostile(value: unknown): Problem | null {
  if (typeof value === 'string') {
    const what = hostileText(value);
    return what === null ? null : { place: '', what };
  }
  if (typeof value !== 'object' || value === null) return null;
  return Array.isArray(value) ? hostileItem(value) : hostileField(value);
}

function hostileItem(items: readonly unknown[]): Problem | null {
  for (let i = 0; i < items.length; i++) {
    const found = findHostile(items[i]);
    if (found) return within(`[${i}]`, found);
  }
  return null;
}

function hostileField(fields: object): Problem | null {
  // JSON makes objects without inherited fields, and a list of pairs would cost as much as all the rest.
  const values = fields as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(values)) {
    const what = hostileText(key)
      ? 'has a field whose name holds a NUL or half a character'
      : hostileKey(key, values[key]);
    if (what) return { place: '', what };
    const found = findHostile(values[key]);
    if (found) return within(key, found);
  }
  return null;
}

function within(step: string, { place, what }: Problem): Problem {
  const joint = place === '' || place.startsWith('[') ? '' : '.';
  return { place: `${step}${joint}${place}`.slice(0, PLACE_CHARS), what };
}

/** What an answer names of a place. */
const PLACE_CHARS = 300;

function hostileText(text: string): string | null {
  if (text.includes('\0')) return 'holds a NUL character';
  return text.isWellFormed() ? null : 'holds half a character (a lone surrogate)';
}

function hostileKey(key: string, value: unknown): string | null {
  if (key === '__proto__') return 'has a field named __proto__';
  if (key !== 'constructor' || typeof value !== 'object' || value === null) return null;
  return Object.hasOwn(value, 'prototype') ? 'has a field named constructor.prototype' : null;
}
