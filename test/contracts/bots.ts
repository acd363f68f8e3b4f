import { suite } from 'node:test';
import type { StartBots } from './bot-cases.ts';
import { botDataCases } from './bots-data.ts';
import { botLifeCases } from './bots-life.ts';
import { botQueueCases } from './bots-queue.ts';
import { doorCases } from './doors.ts';

export interface BotStore {
  readonly name: string;
  readonly skip?: string | false;
  readonly start: StartBots;
}

/** What the door of bots promises over HTTP, held against a real listening server. */
export function botContract({ name, skip = false, start }: BotStore): void {
  suite(`the contract of bots over ${name}`, { skip }, () => {
    for (const declare of [botQueueCases, botLifeCases, botDataCases, doorCases]) declare(start);
  });
}
