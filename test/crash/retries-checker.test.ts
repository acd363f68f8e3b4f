import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkStory, HOPELESS, type Story, type Try } from '../../proof/retries/check.ts';

function tried(id: string, title: string, state: string, failure: number, more: Partial<Try> = {}): Try {
  return { id, title, state, params: { failure }, comments: [], ...more };
}
const said = (text: string): Pick<Try, 'comments'> => ({ comments: [{ text }] });

/** One task that was tried three times, and one that no retry can mend. */
const RECORDED: Story = {
  roots: ['a', 'h'],
  doubted: [],
  jobs: [
    tried('a', 'A', 'failed', 0, said('Retry #1 created')),
    tried('a1', 'A (retry 1)', 'failed', 0, { retryOf: 'a', ...said('Retry #2 created') }),
    tried('a2', 'A (retry 2)', 'dead', 0, { retryOf: 'a1' }),
    tried('h', 'H', 'failed', HOPELESS, said('No retry: there is no such ticker')),
  ],
  lines: ['a', 'a1', 'a1', 'a2', 'a2', 'h', 'h'],
  told: [
    'A failed. Reason: baba is broken (request 1). Retry: yes\nRetry 1/2: A back in queue.',
    'H failed. Reason: no such ticker (request 2). Retry: no',
    'H will not be retried: there is no such ticker. Needs human attention.',
    'A (retry 1) failed. Reason: baba is broken (request 3). Retry: yes\nRetry 2/2: A back in queue.',
    'A (retry 2) failed after 2 attempts. Needs human attention.',
    // The server died when Telegram had taken it.
    'A (retry 2) failed after 2 attempts. Needs human attention.',
  ],
};

const changed = (id: string, more: Partial<Try>): Story => ({
  ...RECORDED,
  jobs: RECORDED.jobs.map((job) => (job.id === id ? { ...job, ...more } : job)),
});
const without = (id: string): Story => ({ ...RECORDED, jobs: RECORDED.jobs.filter((job) => job.id !== id) });
const withJob = (job: Try): Story => ({ ...RECORDED, jobs: [...RECORDED.jobs, job] });

const FAULTS: readonly (readonly [fault: string, story: Story, says: RegExp])[] = [
  [
    'a second retry of one failure',
    withJob(tried('x', 'A (retry 1)', 'failed', 0, { retryOf: 'a' })),
    /a was retried 2 times/,
  ],
  [
    'a retry too many',
    withJob(tried('a3', 'A (retry 3)', 'dead', 0, { retryOf: 'a2' })),
    /has 4 tries, not 3/,
  ],
  ['a retry that was never made', without('a2'), /has 2 tries, not 3/],
  ['a task that is lost', without('h'), /h has 0 tries/],
  ['a task that nobody made', withJob(tried('z', 'Z', 'dead', 0)), /1 jobs belong to no task/],
  [
    'a retry of what no retry can mend',
    withJob(tried('h1', 'H (retry 1)', 'dead', HOPELESS, { retryOf: 'h' })),
    /h has 2 tries, not 1/,
  ],
  ['a task that hangs', changed('a2', { state: 'running' }), /is running at its try 2, not dead/],
  [
    'a name that grew twice',
    changed('a2', { title: 'A (retry 1) (retry 2)' }),
    /is called A \(retry 1\) \(retry 2\)/,
  ],
  [
    'a word that was said twice',
    changed('a', { comments: [...said('Retry #1 created').comments, ...said('Retry #1 created').comments] }),
    /says "Retry #1 created \| Retry #1 created"/,
  ],
  [
    'a line that was made twice',
    { ...RECORDED, lines: [...RECORDED.lines, 'a2'] },
    /a2 has 3 lines for the chat, not 2/,
  ],
  [
    'a line that was never made',
    { ...RECORDED, lines: RECORDED.lines.slice(1) },
    /a has 0 lines for the chat, not 1/,
  ],
  [
    'an alert that nobody saw',
    { ...RECORDED, told: RECORDED.told.slice(0, 4) },
    /nobody was told: A \(retry 2\) failed after 2 attempts/,
  ],
  [
    'a failure that nobody saw',
    { ...RECORDED, told: RECORDED.told.slice(1) },
    /nobody was told: A failed\. Reason: baba is broken\. Retry: yes/,
  ],
  [
    'a promise of a retry that never comes',
    { ...RECORDED, told: [...RECORDED.told, 'H failed. Reason: no such ticker (request 9). Retry: yes'] },
    /people were told: H failed\. Reason: no such ticker\. Retry: yes/,
  ],
  [
    'a reason of another task',
    { ...RECORDED, told: [...RECORDED.told, 'A failed. Reason: deba is broken (request 9). Retry: yes'] },
    /people were told: A failed\. Reason: deba is broken/,
  ],
  [
    'an alert of what goes on',
    { ...RECORDED, told: [...RECORDED.told, 'A failed after 1 attempt. Needs human attention.'] },
    /people were told: A failed after 1 attempt/,
  ],
];

test('the checker of retries is content with a history in which all is well [TQ-23]', () => {
  assert.deepEqual(checkStory(RECORDED), []);
});

test('a question that was answered to nobody leaves it open whether its tasks are tried again', () => {
  const again = [
    tried('h', 'H', 'failed', HOPELESS, said('Retry #1 created')),
    tried('h1', 'H (retry 1)', 'failed', HOPELESS, {
      retryOf: 'h',
      ...said('No retry: there is no such ticker'),
    }),
  ];
  const jobs = [...RECORDED.jobs.slice(0, 3), ...again];
  const told = [
    ...RECORDED.told.filter((text) => !text.startsWith('H failed')),
    'H failed. Reason: no such ticker (request 2). Retry: yes',
    'Retry 1/2: H back in queue.',
    'H (retry 1) failed. Reason: no such ticker (request 5). Retry: no',
  ];
  const lines = [...RECORDED.lines, 'h1', 'h1', 'h1'].toSpliced(5, 1);
  const story = { ...RECORDED, jobs, lines, told };
  assert.deepEqual(checkStory({ ...story, doubted: [0] }), []);
  assert.match(checkStory(story).join('\n'), /h has 2 tries, not 1/);
});

for (const [fault, story, says] of FAULTS)
  test(`the checker of retries finds ${fault} [TQ-23]`, () => {
    assert.match(checkStory(story).join('\n'), says);
  });
