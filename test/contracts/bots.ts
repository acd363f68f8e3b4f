import { after, suite } from 'node:test';
import type { StartBots } from './bot-cases.ts';
import { botDataCases } from './bots-data.ts';
import { botLifeCases } from './bots-life.ts';
import { botQueueCases } from './bots-queue.ts';
import { doorCases } from './doors.ts';
import { sharing } from './spine.ts';

export interface BotStore {
  readonly name: string;
  readonly skip?: string | false;
  readonly cases: readonly Cases[];
  readonly start: StartBots;
}

type Cases = (start: StartBots) => void;

/** Who gets what, and what becomes of it. */
export const ON_EVERY_STORE: readonly Cases[] = [botQueueCases, botLifeCases, doorCases];

/** Doors know no store, and what bots collect is tested on each below them: the rest of the contract is held once. */
export const WHOLE: readonly Cases[] = [...ON_EVERY_STORE, botDataCases];

/** What the door of bots promises over HTTP, held against a real listening server. */
export function botContract({ name, skip = false, cases, start: startOwn }: BotStore): void {
  suite(`the contract of bots over ${name}`, { skip }, () => {
    const { start, stop } = sharing(startOwn);
    after(stop);
    for (const declare of cases) declare(start);
  });
}
