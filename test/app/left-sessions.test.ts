/** What is ended of a worker that fell silent, and what is left alone. */

import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { endingOf, type LeftSessionsOptions } from '../../src/app/left-sessions.ts';
import { started, type WorkerSlot } from '../../src/domain/worker-slot.ts';
import { FakeClock, rest } from '../support/clock.ts';

const LABEL = 'agent:main:worker-slot-1:x';

function slotOf(runner: string, sessionId: string): WorkerSlot {
  const start = { slot: 'slot-1', instance: 'a', gone: null, metadata: { runner } };
  return { ...started(null, start, 'w', 0), status: 'working', sessionId };
}

/** What was ended, and what the log says. */
function watched(endTurn: LeftSessionsOptions['endTurn']) {
  const clock = new FakeClock();
  const ended: string[] = [];
  const log: string[] = [];
  const engine = {
    sessions: { endOf: async ({ sessionId }: WorkerSlot) => void ended.push(sessionId ?? '') },
  };
  const ending = endingOf({
    engine: engine as unknown as LeftSessionsOptions['engine'],
    endTurn,
    clock,
    log: { info: () => undefined, warn: (_, facts) => void log.push(String(facts?.['error'])) },
  });
  return { clock, ended, log, ending };
}

test('a turn at the gateway is ended there, and only one of the slot itself [WK-23 WK-34]', async () => {
  const turns: string[] = [];
  const { ending, ended, log } = watched(() => async (key) => void turns.push(key));
  await ending(slotOf('gateway', LABEL));
  await ending(slotOf('gateway', 'agent:main:main'));
  await ending(slotOf('gateway', 'agent:main:worker-slot-10:x'));
  await ending(slotOf('gateway', 'agent:main:worker-slot-1:more:x'));
  await ending(slotOf('http', LABEL));
  deepStrictEqual([turns, ended, log], [[LABEL], [LABEL], []]);
});

test('a gateway that fails or never answers costs the task of the worker a moment, and the log says so [WK-34]', async () => {
  const failing = watched(() => () => Promise.reject(new Error('It is away.')));
  await failing.ending(slotOf('gateway', LABEL));
  deepStrictEqual(failing.log, ['Error: It is away.']);
  const silent = watched(() => () => new Promise(() => undefined));
  const end = silent.ending(slotOf('gateway', LABEL));
  await rest();
  deepStrictEqual(silent.log, []);
  await silent.clock.advance(12_000);
  await end;
  match(silent.log.join(), /did not end within 12000 ms/);
  strictEqual(silent.clock.pending, 0);
});

test('where there is no gateway, there is nothing to end at it [WK-34]', async () => {
  const { ending, log } = watched(() => null);
  await ending(slotOf('gateway', LABEL));
  deepStrictEqual(log, []);
});
