/** Places that are called otherwise by now: a group of Telegram has another number once it is a supergroup. */

import type { Place } from '../domain/alias.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';

/** Only groups move. */
const GROUP = /^-\d+$/;

/** What the place that is asked for is called now. */
export async function targetNow({ store }: Core, { channel, target }: Place): Promise<string> {
  if (channel !== 'telegram' || !GROUP.test(target)) return target;
  return (await store.read.meta.get(nameOf(channel, target))) ?? target;
}

export async function noteMoved(tx: Tx, { channel, target }: Place, to: string): Promise<void> {
  await tx.meta.set(nameOf(channel, target), to);
}

function nameOf(channel: string, target: string): string {
  return `movedTo ${channel}:${target}`;
}
