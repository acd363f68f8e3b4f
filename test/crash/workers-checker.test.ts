import { deepStrictEqual, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { checkWorkers, type Fault, type Found } from '../../proof/workers/check.ts';

/** A worker is killed at work; its task goes back, and the next session does it. */
const CLEAN: Found = {
  tasks: [
    {
      id: 'j1',
      slot: 's',
      events: [
        { type: 'job.created', atMs: 0 },
        { type: 'job.claimed', atMs: 10 },
        { type: 'job.expired', atMs: 1_500 },
        { type: 'job.claimed', atMs: 1_600 },
        { type: 'job.completed', atMs: 1_800 },
      ],
    },
  ],
  faults: [
    { slot: 's', signal: 'SIGKILL', atMs: 100, session: 'a', goneMs: 900, restarts: 1, told: 1 },
    { slot: 's', signal: 'SIGTERM', atMs: 2_000, session: null, goneMs: null, restarts: 2, told: 2 },
  ],
  ledger: ['j1 a begin', 'j1 b begin', 'j1 b end'],
  leaseMs: 1_000,
};
const FAULT = CLEAN.faults[0] as Fault;

function told(type: string, atMs: number, found: Found = CLEAN): Found {
  const tasks = found.tasks.map((task) => ({
    ...task,
    events: task.events.map((event) => (event.type === type ? { ...event, atMs } : event)),
  }));
  return { ...found, tasks };
}

test('what workers did is found to be right', () => {
  deepStrictEqual(checkWorkers(CLEAN), []);
});

test('every fault that is planted into what workers did is found', () => {
  const events = CLEAN.tasks[0]?.events ?? [];
  const planted: [string, Found, RegExp][] = [
    [
      'done twice',
      {
        ...CLEAN,
        tasks: [{ id: 'j1', slot: 's', events: [...events, { type: 'job.completed', atMs: 2_000 }] }],
      },
      /completed 2 times/,
    ],
    [
      'never done',
      { ...CLEAN, faults: [FAULT], tasks: [{ id: 'j1', slot: 's', events: events.slice(0, -1) }] },
      /completed 0 times/,
    ],
    [
      'hit nothing',
      { ...CLEAN, faults: CLEAN.faults.map((fault) => ({ ...fault, session: null })) },
      /only 0 of 2 faults met/,
    ],
    ['held too long', told('job.expired', 2_101), /held for 2001 ms after SIGKILL/],
    ['twice under one lease', { ...CLEAN, ledger: [...CLEAN.ledger, 'j1 b end'] }, /twice under one lease/],
    [
      'two at a time',
      { ...CLEAN, ledger: ['j1 a begin', 'j1 b begin', 'j1 a end', 'j1 b end'] },
      /two sessions of task j1 at a time/,
    ],
    ['a lie', { ...CLEAN, ledger: ['j1 a begin', 'j1 b begin'] }, /no session did it/],
    ['an orphan', { ...CLEAN, faults: [{ ...FAULT, goneMs: 10_001 }] }, /there 10001 ms after SIGKILL/],
    ['an orphan for ever', { ...CLEAN, faults: [{ ...FAULT, goneMs: null }] }, /there for ever ms/],
    [
      'a restart too many',
      { ...CLEAN, faults: [{ ...FAULT, told: 2 }] },
      /restartCount 2 after SIGKILL, not 1/,
    ],
  ];
  for (const [what, found, problem] of planted) {
    const problems = checkWorkers(found);
    strictEqual(problems.length, 1, `${what}: ${problems.join('; ')}`);
    strictEqual(problem.test(problems[0] ?? ''), true, `${what}: ${problems[0]}`);
  }
});
