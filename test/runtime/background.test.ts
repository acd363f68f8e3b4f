import { deepEqual } from 'node:assert/strict';
import { once } from 'node:events';
import { constants, getPriority } from 'node:os';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

const { PRIORITY_BELOW_NORMAL } = constants.priority;
const MODULE = new URL('../../src/runtime/background.ts', import.meta.url);

const inThread = `
const { basename } = require('node:path');
const { parentPort } = require('node:worker_threads');
import(${JSON.stringify(MODULE.href)}).then(({ yieldToOthers }) => {
  yieldToOthers();
  parentPort.postMessage(Number(basename(require('node:fs').readlinkSync('/proc/thread-self'))));
  parentPort.once('message', () => undefined);
});
`;

test('a thread that yields leaves the processors to the one that answers calls, which is as it was', {
  skip: process.platform === 'linux' ? false : 'only Linux has priorities for threads',
}, async () => {
  const before = getPriority(process.pid);
  const worker = new Worker(inThread, { eval: true });
  const [thread] = (await once(worker, 'message')) as [number];
  deepEqual(
    { yielding: getPriority(thread), answering: getPriority(process.pid) },
    { yielding: PRIORITY_BELOW_NORMAL, answering: before },
  );
  await worker.terminate();
});
