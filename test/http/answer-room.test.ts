import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { suite, test } from 'node:test';
import type { Actor } from '../../src/domain/command.ts';
import { AnswerRoom } from '../../src/http/answer-room.ts';
import { FakeClock } from '../support/clock.ts';
import { worker } from '../support/engines.ts';

const MEGABYTE = 1_048_576;

suite('the room for large answers', () => {
  test('lets them in one after another, in the order of asking, and each caller into half of it', async () => {
    const { ask, closed, entered } = open(8);
    ask('a', 3);
    ask('b', 1);
    ask('a', 2);
    ask('b', 0.5);
    ask('c', 2);
    await nextRound();
    // The second of "a" has to wait for the first; that keeps nobody else, but "c" has to wait for room.
    deepStrictEqual(entered, ['a 3', 'b 1', 'b 0.5']);
    closed('b 1');
    await nextRound();
    deepStrictEqual(entered.slice(3), ['c 2']);
    closed('a 3');
    await nextRound();
    deepStrictEqual(entered.slice(4), ['a 2']);
  });

  test('counts the runs of a worker with the worker itself, and an agent at a gateway by itself', async () => {
    const room = new AnswerRoom(16 * MEGABYTE, new FakeClock());
    const run = (onlyJob: string): Actor => ({ name: 'w', role: 'run', targets: null, onlyJob });
    await room.take(asking('w', run('1')), 8 * MEGABYTE);
    for (const again of [asking('w', run('2')), asking('w')])
      strictEqual(await inOrWaits(room.take(again, MEGABYTE)), 'waits');
    strictEqual(await inOrWaits(room.take(asking('other'), MEGABYTE, true)), 'in');
    const agent: Actor = { ...run('3'), shown: true, agent: 'iris' };
    strictEqual(await inOrWaits(room.take(asking('w', agent), MEGABYTE, true)), 'in');
    strictEqual(room.opened(asking('w')), null, 'its claims go on');
  });

  test('keeps some of it for answers of work that is done, and some for claims to begin', async () => {
    const room = new AnswerRoom(16 * MEGABYTE, new FakeClock());
    await room.take(asking('a'), 8 * MEGABYTE);
    await room.take(asking('b'), 4 * MEGABYTE);
    strictEqual(await inOrWaits(room.take(asking('c'), MEGABYTE)), 'waits');
    strictEqual(await inOrWaits(room.take(asking('d'), 2 * MEGABYTE, true)), 'in');
    strictEqual(await inOrWaits(room.take(asking('e'), MEGABYTE, true)), 'waits');
    strictEqual(room.opened(asking('f')), null);
  });

  test('is never asked for by small answers', async () => {
    const { ask, entered } = open(8);
    for (let i = 0; i < 4; i++) ask('a', 4);
    ask('a', 0.05);
    await nextRound();
    deepStrictEqual(entered, ['a 4', 'a 0.05']);
  });

  test('tells whoever waits too long to come back, unless it has to be told of a commit', async () => {
    const { ask, clock, entered, refused, closed } = open(8);
    ask('a', 4);
    ask('a', 4);
    ask('a', 3, true);
    await nextRound();
    await clock.advance(10_000);
    await nextRound();
    deepStrictEqual([entered, refused], [['a 4'], ['a 4: overloaded']]);
    closed('a 4');
    await nextRound();
    deepStrictEqual(entered, ['a 4', 'a 3']);
  });

  test('forgets whoever goes away while it waits, and hangs up on whoever does not take its answer', async () => {
    const { ask, clock, entered, refused, closed, raw } = open(8);
    ask('a', 4);
    ask('a', 3);
    ask('a', 2);
    await nextRound();
    closed('a 3');
    await nextRound();
    deepStrictEqual([entered, refused], [['a 4'], ['a 3: overloaded']]);
    ok(!raw('a 4').destroyed);
    ask('a', 1, true);
    await clock.advance(9_000);
    await clock.advance(51_000);
    ok(raw('a 4').destroyed);
    await nextRound();
    deepStrictEqual(entered, ['a 4', 'a 1']);
  });

  test('gives more at once to a reply that has some, and an answer larger than all of it what there is', async () => {
    const clock = new FakeClock();
    const room = new AnswerRoom(8 * MEGABYTE, clock);
    const first = asking('a');
    await room.take(first, 3 * MEGABYTE);
    await room.take(first, 3 * MEGABYTE);
    const second = asking('b');
    const waiting = room.take(second, 100 * MEGABYTE, true);
    strictEqual(await Promise.race([waiting.then(() => 'in'), nextRound().then(() => 'waits')]), 'waits');
    first.reply.raw.destroy();
    await waiting;
    const third = rejects(room.take(asking('c'), MEGABYTE), { code: 'overloaded' });
    await clock.advance(10_000);
    await third;
  });
});

function open(megabytes: number) {
  const clock = new FakeClock();
  const room = new AnswerRoom(megabytes * MEGABYTE, clock);
  const entered: string[] = [];
  const refused: string[] = [];
  const replies = new Map<string, ServerResponse>();
  const raw = (name: string): ServerResponse => replies.get(name) as ServerResponse;
  const ask = (who: string, size: number, done = false): void => {
    const one = asking(who);
    const name = `${who} ${size}`;
    if (!replies.has(name)) replies.set(name, one.reply.raw);
    room.take(one, size * MEGABYTE, done).then(
      () => entered.push(name),
      (error: { code: string }) => refused.push(`${name}: ${error.code}`),
    );
  };
  return { ask, clock, entered, refused, raw, closed: (name: string) => raw(name).destroy() };
}

/** As much of a reply as the room looks at. */
class FakeReply extends EventEmitter {
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function asking(name: string, actor: Actor = worker(name)) {
  // Only its end is looked at.
  const raw = new FakeReply() as unknown as ServerResponse;
  return { actor, reply: { raw } };
}

function inOrWaits(entered: Promise<unknown>): Promise<'in' | 'waits'> {
  return Promise.race([entered.then(() => 'in' as const), nextRound().then(() => 'waits' as const)]);
}

function nextRound(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
