/** What servers tell each other over NOTIFY: which targets have new work. */

export const WAKE_CHANNEL = 'spine_wake';

/** NOTIFY takes 8,000 bytes at most; with more targets than fit, everybody looks. */
const PAYLOAD_BYTES = 7_000;

export function wakePayload(targets: readonly string[]): string {
  const payload = JSON.stringify(targets);
  return Buffer.byteLength(payload) > PAYLOAD_BYTES ? '[]' : payload;
}

/** Null for what no server of ours has sent: anybody who may connect to the database may use the channel. */
export function targetsIn(payload: string | undefined): string[] | null {
  let value: unknown;
  try {
    value = JSON.parse(payload ?? '');
  } catch {
    return null;
  }
  return Array.isArray(value) && value.every((target) => typeof target === 'string') ? value : null;
}
