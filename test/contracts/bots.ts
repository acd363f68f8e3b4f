import { after, suite } from 'node:test';
import type { StartBots } from './bot-cases.ts';
import { botAttemptCases } from './bots-attempts.ts';
import { botDataCases } from './bots-data.ts';
import { botLifeCases } from './bots-life.ts';
import { botQueueCases } from './bots-queue.ts';
import { doorCases } from './doors.ts';
import { sharing } from './spine.ts';

export interface BotStore {
  readonly name: string;
  readonly skip?: string | false;
  readonly start: StartBots;
}

type Cases = (start: StartBots) => void;

/** Held whole on each store: the tables of its text ask for that. */
const CASES: readonly Cases[] = [botQueueCases, botLifeCases, botAttemptCases, doorCases, botDataCases];

/** What the door of bots promises over HTTP, held against a real listening server. */
export function botContract({ name, skip = false, start: startOwn }: BotStore): void {
  suite(`the contract of bots over ${name}`, { skip }, () => {
    const { start, stop } = sharing(startOwn);
    after(stop);
    for (const declare of CASES) declare(start);
  });
}
