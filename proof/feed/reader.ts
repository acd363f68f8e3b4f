import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestServer } from '../../test/support/server.ts';
import type { Random } from '../random.ts';

export interface SeenEvent {
  readonly jobId: string;
  readonly seq: number;
  readonly type: string;
}

/** Follows the feed over connections that are cut at random, each time going on from the last whole event. */
export class FeedReader {
  readonly #servers: readonly TestServer[];
  readonly #random: Random;
  readonly #lastSeq = new Map<string, number>();
  #lastId = '0';
  #connection: http.ClientRequest | undefined;
  #stopped = false;
  /** Events seen, each counted once. */
  seen = 0;
  cuts = 0;
  readonly types = new Map<string, string>();
  readonly violations: string[] = [];

  constructor(servers: readonly TestServer[], random: Random) {
    this.#servers = servers;
    this.#random = random;
  }

  async follow(): Promise<void> {
    while (!this.#stopped) {
      await this.#connectOnce();
      // Some come back at once, others when much has happened.
      if (!this.#stopped) await sleep(this.#random.chance(0.5) ? 0 : this.#random.int(200));
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#connection?.destroy();
  }

  #connectOnce(): Promise<void> {
    const server = this.#random.pick(this.#servers);
    const livesMs = 5 + this.#random.int(this.#random.chance(0.7) ? 150 : 1_000);
    const headers = { authorization: `Bearer ${server.tokens.head}`, 'last-event-id': this.#lastId };
    return new Promise((resolve) => {
      const request = http.get(`${server.url}/events`, { headers, agent: false }, (incoming) => {
        if (incoming.statusCode !== 200) this.violations.push(`a reader was answered ${incoming.statusCode}`);
        let text = '';
        incoming.setEncoding('utf8').on('data', (chunk: string) => {
          const blocks = (text + chunk).split('\n\n');
          // What has no end yet is not an event: whoever is cut off here gets it again.
          text = blocks.pop() ?? '';
          for (const block of blocks) this.#take(block);
        });
        incoming.on('error', () => undefined);
      });
      this.#connection = request;
      const cut = setTimeout(() => request.destroy(), livesMs);
      request.on('error', () => undefined);
      request.on('close', () => {
        clearTimeout(cut);
        this.cuts++;
        resolve();
      });
    });
  }

  #take(block: string): void {
    const fields = new Map(
      block.split('\n').map((line): [string, string] => {
        const colon = line.indexOf(': ');
        return [line.slice(0, colon), line.slice(colon + 2)];
      }),
    );
    this.#lastId = fields.get('id') ?? this.#lastId;
    const data = fields.get('data');
    if (data === undefined) return;
    const { jobId, seq, type } = JSON.parse(data) as SeenEvent;
    const last = this.#lastSeq.get(jobId) ?? 0;
    if (seq !== last + 1) this.violations.push(`event ${seq} of job ${jobId} came after ${last}`);
    if (seq <= last) return;
    this.#lastSeq.set(jobId, seq);
    this.types.set(`${jobId} ${seq}`, type);
    this.seen++;
  }
}
