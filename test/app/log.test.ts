import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { openLog } from '../../src/app/log.ts';
import { jsonLine, textLine } from '../../src/app/log-lines.ts';
import { openSink, type Out } from '../../src/app/log-sink.ts';
import { jobLog } from '../../src/app/job-log.ts';
import { EVENT_KINDS, type EventKind } from '../../src/domain/event.ts';
import type { Job } from '../../src/domain/job.ts';
import { ChangeSet } from '../../src/engine/change-set.ts';
import { FakeClock } from '../support/clock.ts';
import {
  claimed,
  claimNext,
  create,
  createMany,
  DIALECTS,
  failed,
  finished,
  HEAD,
  onEvery,
  worker,
} from '../support/engines.ts';

/** Kinds of events after which a job always goes on; a job that is made, or opened again, is no end to be told. */
const GOES_ON: ReadonlySet<EventKind> = new Set([
  'job.created',
  'job.imported',
  'job.claimed',
  'job.heartbeat',
  'job.released',
  'job.comment',
  'job.queued',
  'job.blocked',
  'job.scheduled',
  'job.snoozed',
  'job.cancel_requested',
  'job.reopened',
  'job.retried',
  'job.awaiting_approval',
  'job.approved',
  'job.asked',
  'job.answered',
  'job.checkpoint',
  'job.edited',
  'job.reported',
]);

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const EVIL = 'a\n{"level":"error"}\r\u001b[2J\u009b31m\u202e\u2028\u007f end';
// oxlint-disable-next-line no-control-regex -- what no line may hold
const CONTROL = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]/;

/** Takes one write at a time, and only as long as the test says so. */
class Reader implements Out {
  readonly texts: string[] = [];
  reads = true;
  #taken: (() => void) | null = null;
  #gone: () => void = () => undefined;

  write(text: string, taken: () => void): void {
    this.texts.push(text);
    if (this.reads) setImmediate(taken);
    else this.#taken = taken;
  }

  on(_event: 'error', listener: () => void): void {
    this.#gone = listener;
  }

  readOn(): void {
    this.reads = true;
    this.#taken?.();
  }

  leave(): void {
    this.#gone();
  }

  get lines(): Record<string, unknown>[] {
    return this.texts
      .join('')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

function opened(level: 'debug' | 'info' | 'warn' = 'info') {
  const clock = new FakeClock(NOW);
  const out = new Reader();
  const sink = openSink(out, clock, (lines) => `{"lines":${lines}}\n`);
  const log = openLog({ level, format: 'json', colours: false, clock, wallMs: () => NOW, sink });
  const flush = async (): Promise<void> => {
    await clock.advance(25);
    await new Promise(setImmediate);
  };
  return { clock, out, log, flush };
}

suite('a line of the log', () => {
  test('is one line, whatever callers have put into it, and holds nothing that a terminal obeys [WK-39]', () => {
    const error = new Error(EVIL, { cause: new Error(EVIL) });
    for (const line of [jsonLine(NOW, 'info', EVIL, { [EVIL]: EVIL, error, deep: { [EVIL]: [EVIL] } })]) {
      assert.equal(line.split('\n').length, 2);
      assert.doesNotMatch(line, CONTROL);
      assert.equal((JSON.parse(line) as { message: string }).message, EVIL);
    }
    const text = textLine(NOW, 'warn', EVIL, { by: EVIL, error }, false);
    assert.doesNotMatch(text, CONTROL);
    // Only the stack has further lines, and none of them begins where a line of the log does.
    for (const line of text.trimEnd().split('\n').slice(1)) assert.match(line, /^ {4}/);
  });

  test('is bounded, and stays whole JSON', () => {
    const long = 'x'.repeat(1_000_000);
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`f${i}`, long]));
    for (const facts of [{ long }, many, { list: [long, long] }, { error: new Error(long) }]) {
      const line = jsonLine(NOW, 'error', long, facts);
      assert.ok(line.length < 20_000, `${line.length}`);
      assert.equal((JSON.parse(line) as { level: string }).level, 'error');
    }
  });

  test('reads well at a terminal', () => {
    const facts = { job: 'a-b', no: 7, error: 'no route', nothing: undefined };
    const line = textLine(NOW, 'warn', 'An attempt failed', facts, false);
    assert.equal(line, '03:04:05.006 warn  An attempt failed job=a-b no=7 error="no route"\n');
  });
});

suite('the log', () => {
  test('leaves out what is less important than asked for', async () => {
    const { log, out, flush } = opened('warn');
    log.info('no');
    log.warn('yes');
    assert.equal(log.debug, null);
    await flush();
    assert.deepEqual(
      out.lines.map(({ message }) => message),
      ['yes'],
    );
  });

  test('keeps a bounded part of what its reader leaves, and tells how many lines it left out [WK-39]', async () => {
    const { log, out, flush } = opened();
    out.reads = false;
    log.info('first');
    await flush();
    for (let i = 0; i < 20_000; i++) log.info('x'.repeat(500), { i });
    assert.ok(log.dropped > 10_000, `${log.dropped}`);
    assert.equal(out.texts.length, 1);
    const { dropped } = log;
    out.readOn();
    await flush();
    assert.equal(out.lines.at(-1)?.['lines'], dropped);
    assert.equal(out.lines.length + dropped, 20_002);
  });

  test('forgets a reader that has gone, and does not wait for it at the end', async () => {
    const { log, out } = opened();
    out.leave();
    log.error('nobody');
    assert.equal(log.dropped, 1);
    await log.end();
  });

  test('tells things that come by the thousand once, and later how many more there were', async () => {
    const { log, out, clock, flush } = opened();
    for (let i = 1; i <= 1_000; i++) log.sparingly('refused', 'warn', 'Refused', { i });
    log.sparingly('other', 'warn', 'Other', {});
    await flush();
    assert.deepEqual(
      out.lines.map(({ message, i }) => [message, i]),
      [
        ['Refused', 1],
        ['Other', undefined],
      ],
    );
    await clock.advance(10_000);
    await flush();
    assert.deepEqual(
      out.lines.slice(2).map(({ i, more }) => [i, more]),
      [[1_000, 998]],
    );
  });

  test('of a process whose standard error nobody reads holds up nothing [WK-39]', async () => {
    const source = `
      const { processLog } = await import(${JSON.stringify(new URL('../../src/app/process-log.ts', import.meta.url).href)});
      const { systemClock } = await import(${JSON.stringify(new URL('../../src/runtime/clock.ts', import.meta.url).href)});
      const log = processLog({ logLevel: 'info', logFormat: 'auto' }, systemClock());
      for (let round = 0; round < 200; round++) {
        for (let i = 0; i < 100; i++) log.info('x'.repeat(900));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      process.stdout.write(String(log.dropped > 0));
      await log.end();
      process.exit(0);
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stderr.pause();
    let said = '';
    child.stdout.on('data', (text) => (said += String(text)));
    const [code] = (await once(child, 'exit')) as [number];
    assert.deepEqual([code, said], [0, 'true']);
    child.stderr.destroy();
  });
});

onEvery(DIALECTS, (each) => {
  each(
    'jobs are told when they end, with what ties them to their events; failures with why and the next try [WK-39]',
    async (spine) => {
      const { log, out, flush } = opened();
      spine.engine.core.watchers.push(jobLog(log, spine.clock));
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      const job = await create(spine, { traceparent, maxAttempts: 2, retry: { backoffMs: 60_000 } });
      await spine.clock.advance(40);
      await failed(spine, job, true, { message: 'no route\nsecret: hunter2' });
      const good = await create(spine);
      await finished(spine, good, { token: 'hunter2' });
      await flush();
      const [bad, well] = out.lines;
      assert.equal(out.lines.length, 2);
      const { t: _, event: __, nextTry, queuedMs, ...told } = bad ?? {};
      assert.deepEqual(told, {
        level: 'warn',
        message: 'An attempt failed',
        job: job.id,
        no: job.no,
        target: 'any',
        attempt: 1,
        by: 'w',
        state: 'scheduled',
        runMs: 0,
        trace: traceparent.slice(3, 35),
        error: 'no route',
      });
      assert.ok(typeof queuedMs === 'number' && queuedMs >= 40 && typeof nextTry === 'string');
      assert.deepEqual(
        [well?.['message'], well?.['job'], well?.['level']],
        ['A job is done', good.id, 'info'],
      );
      assert.doesNotMatch(out.texts.join(''), /hunter2/);
    },
  );

  each('whatever kind of event ends a job has its line, a rejected approval too', async (spine) => {
    const { log, out, flush } = opened();
    const watcher = jobLog(log, spine.clock);
    const before = await create(spine, { approval: {} });
    spine.engine.core.watchers.push(watcher);
    await spine.engine.approvals.resolve(HEAD, before.id, { agree: false, notes: null, by: 'operator' });
    await flush();
    assert.deepEqual(
      out.lines.map(({ message, job, state }) => [message, job, state]),
      [['A job was not approved', before.id, 'cancelled']],
    );
    const after: Job = { ...before, state: 'cancelled' };
    const { effects } = new ChangeSet(0);
    for (const kind of EVENT_KINDS.filter((each) => !GOES_ON.has(each))) {
      out.texts.length = 0;
      const event = { jobNo: before.no, seq: 1, at: 0, kind, by: 'w', facts: null };
      watcher({ ...effects, changes: [{ before, after, kind: 'other' }], events: [event] });
      await flush();
      assert.equal(out.lines.length, 1, kind);
    }
  });

  each('more ends than anybody reads are counted, and failures have room of their own', async (spine) => {
    const { log, out, flush } = opened();
    spine.engine.core.watchers.push(jobLog(log, spine.clock));
    for (let round = 0; round < 6; round++) {
      await createMany(spine, 1_000);
      const jobs = await claimNext(spine, { max: 1_000 });
      const w = worker('w');
      await Promise.all(jobs.map(({ job }) => spine.engine.leases.complete(w, job.id, job.leaseToken, null)));
      await flush();
    }
    await failed(spine, await create(spine));
    await spine.clock.advance(10_000);
    const last = await create(spine);
    await claimed(spine, last);
    await spine.engine.leases.complete(worker('w'), last.id, null, null);
    await flush();
    const told = out.lines.filter(({ message }) => message === 'A job is done').length;
    const more = out.lines
      .filter(({ jobs }) => jobs !== undefined)
      .reduce((sum, { jobs }) => sum + Number(jobs), 0);
    assert.ok(told < 6_001 && told >= 5_000, `${told}`);
    assert.equal(told + more, 6_001);
    assert.equal(out.lines.filter(({ level }) => level === 'warn').length, 1);
  });
});
