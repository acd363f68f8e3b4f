/**
 * JSON put together as text, for answers that are given so often that building an object first would show. Every piece
 * that is added costs an object too, so constant pieces are as long as they can be.
 */

import { iso } from './times.ts';

/** What JSON has to escape: quotes, backslashes, control characters, and characters of which only half is there. */
// oxlint-disable-next-line no-control-regex -- these are the characters that are looked for
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;

/** What stands between the quotes. Names and ids rarely need escaping, and looking is cheaper than printing. */
export function escaped(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text).slice(1, -1) : text;
}

export function quotedOrNull(text: string | null): string {
  return text === null ? 'null' : `"${escaped(text)}"`;
}

export function timeOrNull(ms: number | null): string {
  return ms === null ? 'null' : `"${iso(ms)}"`;
}

/** One more field of an object, or nothing when there is no value. */
export function textField(name: string, value: string | null): string {
  return value === null ? '' : `,"${name}":"${escaped(value)}"`;
}

export function numberField(name: string, value: number | null): string {
  return value === null ? '' : `,"${name}":${value}`;
}

export function timeField(name: string, ms: number | null): string {
  return ms === null ? '' : `,"${name}":"${iso(ms)}"`;
}

/** A value that is JSON already. */
export function jsonField(name: string, json: string | null): string {
  return json === null ? '' : `,"${name}":${json}`;
}

/** The items of an array. Added up they are copied once, when the answer is sent; joined, a second time before that. */
export function itemsOf(texts: readonly string[]): string {
  let items = '';
  for (const text of texts) items = items === '' ? text : `${items},${text}`;
  return items;
}
