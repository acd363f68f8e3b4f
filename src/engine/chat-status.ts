/** How the queue stands, from counters: it costs the same with ten tasks and ten million. */

import { dayStart } from '../domain/day.ts';
import { isoTime } from '../domain/iso-time.ts';
import type { State } from '../domain/job.ts';
import { UNASSIGNED } from '../domain/bot.ts';
import { BOT_STATUS_OF } from '../domain/statuses.ts';
import type { Core } from './core.ts';

const APPROVALS_TOLD = 100;

export async function status(core: Core): Promise<string> {
  const { read } = core.store;
  const now = core.now();
  const [counts, today, routing, approvals] = await Promise.all([
    read.counters.all(),
    read.tallies.between(dayStart(core.dayTz, now), now + 1),
    read.routing.current(),
    read.approvals.list({ status: 'pending', limit: APPROVALS_TOLD }),
  ]);
  const sum = (of: (one: { target: string; state: State }) => boolean): number =>
    counts.filter(of).reduce((all, { n }) => all + n, 0);
  const lines = [
    `Unassigned: ${sum(({ target, state }) => target === UNASSIGNED && BOT_STATUS_OF[state] === 'pending')}`,
    `Running: ${sum(({ state }) => state === 'running')}`,
    `Failed today: ${(today.get('failed') ?? 0) + (today.get('dead') ?? 0)}`,
  ];
  if (approvals.length > 0)
    lines.push(`Waiting for a word: ${approvals.length}${approvals.length === APPROVALS_TOLD ? '+' : ''}`);
  for (const { kind, name, by, untilAt } of routing.pauses) {
    const until = untilAt === null ? '' : ` until ${isoTime(untilAt)}`;
    lines.push(`${kind === 'door' ? `Paused by ${by}` : `Paused: ${kind} ${name}, by ${by}`}${until}`);
  }
  return lines.join('\n');
}
