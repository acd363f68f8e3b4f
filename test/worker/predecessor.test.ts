/** Who a worker takes for gone, and whom it only waits for. */

import { notStrictEqual, strictEqual } from 'node:assert';
import { test } from 'node:test';
import {
  goneInstance,
  lastingPlace,
  thisProcess,
  type WorkerProcess,
} from '../../src/worker/service/predecessor.ts';

const HERE: WorkerProcess = {
  ...thisProcess('box'),
  workerPlace: 'boot /docker/one/hosts',
  workerPids: 'pid:[1]',
};
/** Lives as long as the test does. */
const OTHER: WorkerProcess = { ...HERE, workerPid: process.ppid };

function gone(
  before: Partial<WorkerProcess>,
  here: WorkerProcess = HERE,
  status: 'idle' | 'offline' = 'idle',
) {
  const metadata = { instance: 'before', ...OTHER, ...before };
  const nothing = { task: null, taskTitle: null, sessionId: null, lastUpdate: 0 };
  return goneInstance({ slot: 'slot-1', status, metadata, ...nothing }, here) === 'before';
}

test('a process that has ended, or whose number is another one’s by now, is gone [WK-32]', () => {
  strictEqual(gone({ workerBegan: null }), false);
  strictEqual(gone({ workerPid: 2 ** 22 + 1 }), true);
  strictEqual(gone({ workerBegan: '1' }), process.platform === 'linux');
  strictEqual(gone({ workerPid: 2 ** 22 + 1 }, HERE, 'offline'), false);
});

test('in a container that was started again, a worker with its own number is no other than itself [WK-32 WK-44]', () => {
  const { workerPid } = HERE;
  strictEqual(gone({ workerPid }), true);
  strictEqual(gone({ workerPid, workerPids: 'pid:[2]' }), true);
  strictEqual(gone({ workerPids: 'pid:[2]' }), true);
});

test('of other machines and containers nobody knows, whatever they are called [WK-44]', () => {
  strictEqual(gone({ host: 'other', workerPid: HERE.workerPid }), false);
  strictEqual(gone({ workerPlace: 'boot /docker/two/hosts', workerPid: HERE.workerPid }), false);
  strictEqual(gone({ workerPlace: 'other /docker/one/hosts', workerPid: 2 ** 22 + 1 }), false);
  const bare = { ...HERE, workerPlace: 'boot ' };
  strictEqual(gone({ workerPlace: 'boot ', workerPids: 'pid:[2]', workerPid: HERE.workerPid }, bare), false);
});

test('a place is told from others of its name, and known again when it was started anew [WK-44]', () => {
  const place = lastingPlace(HERE);
  strictEqual(
    lastingPlace({ ...HERE, workerPlace: 'later /docker/one/hosts', workerPids: 'pid:[2]' }),
    place,
  );
  notStrictEqual(lastingPlace({ ...HERE, workerPlace: 'boot /docker/two/hosts' }), place);
  const bare = { ...HERE, workerPlace: 'boot ' };
  strictEqual(lastingPlace({ ...bare, workerPlace: 'later ' }), lastingPlace(bare));
  notStrictEqual(lastingPlace({ ...bare, workerPids: 'pid:[2]' }), lastingPlace(bare));
});
