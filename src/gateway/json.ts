/** Reading what another program sent: a missing or odd field is null or empty, never a crash. */

import { isJsonObject } from '../domain/json-object.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function fields(value: unknown): Fields {
  return isJsonObject(value) ? value : {};
}

export function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** Undefined when the text is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
