/** Callers that keep a server busy, and a ledger of what they were promised. */

import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import type { FeedPlace } from '../../src/domain/event.ts';
import type { JobBody } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';
import type { Random } from '../random.ts';

/** A promise, and how much had been written down when it was made: a cut behind that place must leave it. */
export interface Promised {
  readonly place: number;
  readonly job?: { readonly id: string; readonly text: string; readonly result?: string };
  readonly blob?: { readonly id: string; readonly sha256: string };
  /** How far the journal had come by the server's own word. */
  readonly journal?: FeedPlace;
}

export interface LoadOptions {
  readonly server: TestServer;
  readonly recording: string;
  readonly callers: number;
  readonly jobsEach: number;
  readonly random: Random;
}

const PAYLOAD_CHARS = 3_000;

export async function work(options: LoadOptions): Promise<Promised[]> {
  const ledger: Promised[] = [];
  const promise = (kept: Omit<Promised, 'place'>): void =>
    void ledger.push({ place: statSync(options.recording).size, ...kept });
  let working = true;
  const watching = watchJournal(options.server, promise, () => working);
  const half = Math.ceil(options.jobsEach / 2);
  const callAll = async (from: number, until: number): Promise<void> => {
    const callers = Array.from({ length: options.callers }, async (_, caller) => {
      for (let n = from; n < until; n++) await oneJob(options, promise, caller * 1_000_000 + n);
    });
    await Promise.all(callers);
  };
  await callAll(0, half);
  // The journal follows in its own time. Until it holds something it has promised nothing that a cut could break.
  while ((ledger.findLast(({ journal }) => journal)?.journal?.pos ?? 0) === 0) await pause();
  await callAll(half, options.jobsEach);
  working = false;
  await watching;
  return ledger.toSorted((a, b) => a.place - b.place);
}

type Note = (kept: Omit<Promised, 'place'>) => void;

async function oneJob({ server, random }: LoadOptions, promise: Note, n: number): Promise<void> {
  const text = `${n} ${'x'.repeat(random.int(PAYLOAD_CHARS))}`;
  const { body } = await done(server.head.post<JobBody>('/jobs', { target: 'left-claw', spec: { text } }));
  promise({ job: { id: body.id, text } });
  if (n % 3 === 0) {
    const held = await done(server.left.post<JobBody>(`/jobs/${body.id}/claim`, {}));
    const result = `result of ${n}`;
    const leaseToken = held.body.leaseToken;
    await done(server.left.post(`/jobs/${body.id}/complete`, { leaseToken, result }));
    promise({ job: { id: body.id, text, result } });
  }
  if (n % 10 === 0) promise({ blob: await upload(server, text) });
}

async function upload(server: TestServer, text: string): Promise<{ id: string; sha256: string }> {
  const raw = `--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${text}\r\n--B--\r\n`;
  const headers = { 'content-type': 'multipart/form-data; boundary=B' };
  const { body } = await done(server.left.request<{ id: string }>('POST', '/blobs', { raw, headers }));
  return { id: body.id, sha256: createHash('sha256').update(text).digest('hex') };
}

interface Health {
  readonly files?: { readonly journal?: FeedPlace };
}

async function watchJournal(server: TestServer, promise: Note, working: () => boolean): Promise<void> {
  while (working()) {
    const { body } = await done(server.head.get<Health>('/health/details'));
    const { pos = 0, ordinal = 0 } = body.files?.journal ?? {};
    promise({ journal: { pos, ordinal } });
    await pause();
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}

async function done<T extends { readonly status: number; readonly text: string }>(
  answer: Promise<T>,
): Promise<T> {
  const found = await answer;
  if (found.status >= 300) throw new Error(`a call answered ${found.status} ${found.text.slice(0, 200)}`);
  return found;
}
