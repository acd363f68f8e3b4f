import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { telegram } from '../../src/channels/telegram.ts';
import { Deliverer } from '../../src/loops/deliverer.ts';
import { RetryCreator } from '../../src/loops/retry-creator.ts';
import { settler } from '../../src/loops/settler.ts';
import { StuckDetector } from '../../src/loops/stuck-detector.ts';
import { FakeClock } from '../support/clock.ts';
import { deliverAll } from '../support/delivering.ts';
import type { HttpClient } from '../support/http.ts';
import { telegram as telegramBot } from '../support/telegram.ts';
import { loggedIn } from './bots.ts';
import { openServer } from './server.ts';

const TOKEN = '123456:secret-of-the-bot';
const CHAT = { channel: 'telegram', target: '-100', batchMs: 5_000 };
const MINUTE_MS = 60_000;
const WINDOW_MS = 6_000;
const ADMIN = '/api/v1/admin/workers';
const WORKER = '/api/v1/worker';
const TITLE = 'Reddit Crawl for NVDA';

interface Task {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly status: string;
  readonly assigned_to: string | null;
  readonly assigned_to_name?: string;
  readonly parent_task_id: string | null;
  readonly retry_count: number;
  readonly params: unknown;
  readonly result: unknown;
  readonly task_type: { readonly name: string; readonly sop?: string };
}

async function asked<T = Task>(http: HttpClient, method: string, path: string, body?: object): Promise<T> {
  const answer = await http.request<{ data: T }>(method, path, body === undefined ? {} : { body });
  ok(answer.status < 300, answer.text);
  return answer.body.data;
}

test('the crawl of the text: a bot loses its network at 10:08, another one is done at 10:25, and the chat is told [TQ-20 TQ-22 TQ-23 TQ-24 TQ-30 TQ-31 TQ-32]', async (t) => {
  const clock = new FakeClock(Date.parse('2026-02-10T09:58:00Z'));
  const spine = await openServer(t, () => ({}), { clock, chat: CHAT });
  const { core } = spine.engine;
  await using chat = await telegramBot(TOKEN, { now: () => spine.engine.now() });
  const deliverer = new Deliverer(core, () => telegram({ url: chat.url, token: TOKEN }));
  const detector = new StuckDetector({ core, everyMs: MINUTE_MS, absenceMs: () => 0 });
  const creator = new RetryCreator({ core, everyMs: 30_000, model: null });
  let minute = -2;
  /** The loops look once in a minute; then the window of the chat passes. */
  const until = async (wanted: number): Promise<void> => {
    for (; minute < wanted; minute++) {
      await detector.runOnce();
      await settler(core).runOnce();
      await creator.runOnce();
      await clock.advance(WINDOW_MS);
      await deliverAll(deliverer);
      await clock.advance(MINUTE_MS - WINDOW_MS);
    }
  };
  const human = await loggedIn(t, spine, 'Ada', { admin: true });
  const genesis = await loggedIn(t, spine, 'Genesis', { worker: true });
  const nexus = await loggedIn(t, spine, 'Nexus', { worker: true });
  const type = await asked<{ id: number }>(human, 'POST', `${ADMIN}/task-types`, {
    name: 'reddit_crawl',
    label: 'Reddit Crawl',
    sop: 'Read the newest posts.',
    max_retries: 3,
  });

  await until(0);
  const crawl = await asked(human, 'POST', `${ADMIN}/tasks`, {
    title: TITLE,
    task_type_id: type.id,
    params: { ticker: 'NVDA' },
  });
  deepStrictEqual([crawl.status, crawl.assigned_to], ['pending', null]);

  await until(1);
  const first = await asked(genesis, 'POST', `${WORKER}/tasks/claim`, {});
  deepStrictEqual(
    [first.id, first.status, first.assigned_to_name, first.params, first.task_type.sop],
    [crawl.id, 'in_progress', 'Genesis', { ticker: 'NVDA' }, 'Read the newest posts.'],
  );

  await until(5);
  await asked(genesis, 'POST', `${WORKER}/tasks/${crawl.id}/updates`, {
    content: 'Collected 300 posts from r/wsb...',
  });

  // Its last heartbeat; a minute later its network is gone.
  await until(7);
  await asked(genesis, 'POST', `${WORKER}/heartbeat`, {});
  await until(18);
  const read = (id: string): Promise<Task> => asked(human, 'GET', `${ADMIN}/tasks/${id}`);
  deepStrictEqual([(await read(crawl.id)).status, chat.texts], ['in_progress', []]);

  // It is offline for more than ten minutes, and the task is older than fifteen.
  await until(19);
  strictEqual((await read(crawl.id)).status, 'failed');
  const updates = await asked<{ content: string }[]>(human, 'GET', `${ADMIN}/tasks/${crawl.id}/updates`);
  deepStrictEqual(
    updates.map(({ content }) => content),
    [
      'Collected 300 posts from r/wsb...',
      'Worker Genesis went offline. Task marked as failed for retry.',
      'Retry #1 created',
    ],
  );
  const told = [
    `${TITLE} stuck — Genesis offline. Returning to queue.`,
    `Retry 1/3: ${TITLE} back in queue.`,
  ];
  deepStrictEqual(chat.texts, [told.join('\n')]);

  const second = await asked(nexus, 'POST', `${WORKER}/tasks/claim`, {});
  deepStrictEqual(
    [second.title, second.parent_task_id, second.retry_count, second.params, second.assigned_to_name],
    [`${TITLE} (retry 1)`, crawl.id, 1, { ticker: 'NVDA' }, 'Nexus'],
  );
  match(
    second.description ?? '',
    /^PREVIOUS ATTEMPT FAILED: Worker went offline during execution\.\nThis is retry 1 of 3\./,
  );

  await until(25);
  await asked(nexus, 'POST', `${WORKER}/tasks/${second.id}/result`, { result: { summary: '847 posts.' } });
  await asked(nexus, 'PUT', `${WORKER}/tasks/${second.id}/status`, { status: 'completed' });
  await until(26);
  deepStrictEqual(chat.texts.slice(1), [`${TITLE} (retry 1) completed by Nexus. 847 posts.`]);
  strictEqual(await asked<Task | null>(nexus, 'POST', `${WORKER}/tasks/claim`, {}), null);
});
