/** What an agent has heard and which of its calls were taken, line by line, as they came over the wire. */

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { ClaimedJob, SpineClient } from '../../src/client/index.ts';
import type { WorkerJobs } from '../../src/client/worker.ts';
import type { Batch } from './story.ts';

type Line =
  | {
      readonly heard: readonly string[];
      readonly carrier: string;
      readonly askedAt: number;
      readonly at: number;
    }
  /** The call was sent when so many lines were written. */
  | { readonly taken: string; readonly sentAfter: number };

export class Ledger {
  readonly #file: string;
  #lines: number;

  constructor(file: string) {
    this.#file = file;
    this.#lines = linesOf(file).length;
  }

  /** The calls of a worker that carry messages or show that they have come. */
  around(jobs: SpineClient['jobs']): WorkerJobs {
    const claimed = (askedAt: number, found: readonly ClaimedJob[]) => {
      for (const { leaseToken, messages } of found) this.#heard(leaseToken, askedAt, messages ?? []);
      return found;
    };
    return {
      claimNext: async (...call) => claimed(Date.now(), await jobs.claimNext(...call)),
      heartbeat: async (...call) => {
        const { leaseToken = '' } = call[0];
        const askedAt = Date.now();
        const beat = await this.#taken(leaseToken, jobs.heartbeat(...call));
        this.#heard(leaseToken, askedAt, beat.messages ?? []);
        return beat;
      },
      finish: async (...call) =>
        claimed(Date.now(), await this.#taken(call[0].leaseToken ?? '', jobs.finish(...call))),
      release: (...call) => jobs.release(...call),
      snooze: (...call) => jobs.snooze(...call),
      log: (...call) => jobs.log(...call),
      ask: (...call) => jobs.ask(...call),
      checkpoint: (...call) => jobs.checkpoint(...call),
    };
  }

  async #taken<T>(carrier: string, call: Promise<T>): Promise<T> {
    const sentAfter = this.#lines;
    const answer = await call;
    this.#write({ taken: carrier, sentAfter });
    return answer;
  }

  #heard(carrier: string, askedAt: number, messages: readonly { readonly id: string }[]): void {
    if (messages.length === 0) return;
    this.#write({ heard: messages.map(({ id }) => id), carrier, askedAt, at: Date.now() });
  }

  #write(line: Line): void {
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
    this.#lines++;
  }
}

/** A call that was sent after an answer came, and was taken, has told the server of that answer. */
export function heardBy(agent: string, file: string): Batch[] {
  const lines = linesOf(file);
  return lines.flatMap((line, no) => {
    if (!('heard' in line)) return [];
    const { heard: ids, ...rest } = line;
    const isProof = (later: Line) => 'taken' in later && later.taken === line.carrier && later.sentAfter > no;
    return [{ agent, ids, ...rest, accepted: lines.some(isProof) }];
  });
}

/** A line that its writer was killed in says nothing. */
function linesOf(file: string): Line[] {
  if (!existsSync(file)) return [];
  const whole = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return whole.map((line) => JSON.parse(line) as Line);
}
