/** Traces, as W3C Trace Context writes them: which trace a job belongs to, and whose child it is there. */

/** Version 00, lower case, and neither id all zeros. */
export const TRACEPARENT = '^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$';
export const TRACEPARENT_CHARS = 55;

const VALID = new RegExp(TRACEPARENT);
/** A later version may say more behind what this one says. */
const LATER = /^(?!00|ff)[0-9a-f]{2}(-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})(?:-.*)?$/;

/**
 * The traceparent that came with a request, null when there is none. By the standard one that cannot be read counts as none:
 * it may come from a proxy that the caller knows nothing of.
 */
export function traceparentFrom(header: unknown): string | null {
  if (typeof header !== 'string') return null;
  const rest = LATER.exec(header)?.[1];
  const value = rest === undefined ? header : `00${rest}`;
  return VALID.test(value) ? value : null;
}

const PRIME = 0x100000001b3n;
const OFFSETS = [0xcbf29ce484222325n, 0x84222325cbf29ce4n] as const;
const MASK = 0xffffffffffffffffn;

/** So many times 16 hex digits that anybody would make of this text, and never all zeros. */
export function hexHash(text: string, words: 1 | 2): string {
  let hex = '';
  for (let word = 0; word < words; word++) {
    let hash = OFFSETS[word] ?? 0n;
    for (let i = 0; i < text.length; i++) hash = ((hash ^ BigInt(text.charCodeAt(i))) * PRIME) & MASK;
    // Texts differ in their last character most of all: each of its bits is to move all others.
    hash = ((hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn) & MASK;
    hash = ((hash ^ (hash >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK;
    hex += (hash ^ (hash >> 33n) || 1n).toString(16).padStart(16, '0');
  }
  return hex;
}
