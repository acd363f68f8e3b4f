/** Asks a page outside, for a probe: bounded in time and size, never redirected, and never at an inner address. */

import { answerOfPage, type ProbeAnswer, unsure } from '../domain/probe.ts';
import { SendError } from './channel.ts';
import type { AddressGuard } from './guard.ts';
import { post } from './post.ts';

export async function askPage(
  guard: AddressGuard,
  target: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  try {
    const url = guard.check(target);
    const call = { url, who: 'its page', method: 'GET', body: '', signal, timeoutMs } as const;
    const { status, body } = await post({ ...call, lookup: guard.lookup });
    return answerOfPage(status, body);
  } catch (error) {
    if (error instanceof SendError) return unsure(error.message.replace('the webhook', 'its page'));
    throw error;
  }
}
