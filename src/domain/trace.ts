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
