import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { after, before, suite, test } from 'node:test';
import {
  addTask,
  addType,
  ADMIN,
  type Bot,
  type BotServer,
  claimed,
  type Enveloped,
  expectData,
  move,
  put,
  readTask,
  type StartBots,
  type Task,
  WORKER,
} from './bot-cases.ts';

const LIMITED = { error: 'HTTP 429, retry after 60 s' };

/** What was said of an attempt is said of no other. */
export function botAttemptCases(start: StartBots): void {
  suite('one attempt after another', () => {
    let spine: BotServer;
    let provider = '';
    let made = 0;
    before(async () => {
      spine = await start({});
    });
    after(() => spine.stop());
    const bot = (n: 1 | 2): Bot => spine.bots[n - 1] as Bot;
    const resume = async (): Promise<void> => {
      const { status, text } = await spine.server.head.post(`/providers/${provider}/resume`);
      strictEqual(status, 200, text);
    };
    /** A task that has been claimed, of a type without retries that runs into the limits of a provider of its own. */
    const begun = async (): Promise<Task> => {
      provider = `limits-${++made}`;
      const type = await addType(spine, { max_retries: 0, provider });
      const { id } = await addTask(spine, { task_type_id: type.id });
      const task = await claimed(bot(1));
      strictEqual(task.id, id);
      return task;
    };
    const report = async ({ http }: Bot, id: string, result: unknown): Promise<void> =>
      void expectData(await http.post<Enveloped>(`${WORKER}/tasks/${id}/result`, { result }));
    const say = async ({ http }: Bot, id: string, content: string): Promise<void> =>
      void expectData(await http.post<Enveloped>(`${WORKER}/tasks/${id}/updates`, { content }), 201);
    /** W1 meets the limit of its provider, and W2 takes the task when that is over. */
    const parkedAndTaken = async (saying: (id: string) => Promise<void>): Promise<string> => {
      const { id } = await begun();
      await saying(id);
      const parked = expectData(await move(bot(1), id, 'failed'));
      deepStrictEqual([parked.status, parked.assigned_to, parked.result], ['pending', null, null]);
      const paused = await spine.server.head.get('/pauses');
      ok(paused.text.includes(provider), paused.text);
      await resume();
      strictEqual((await claimed(bot(2))).id, id);
      return id;
    };
    /** How it ended, for whoever looks at the door of jobs. */
    const end = async (id: string): Promise<unknown[]> => {
      const { body } = await spine.server.head.get(`/jobs/${id}`);
      return [body['state'], body['error'] ?? null, body['result'] ?? null];
    };

    test('a limit of a provider that one worker has met is not why the next one fails [TQ-19]', async () => {
      const id = await parkedAndTaken((task) => report(bot(1), task, LIMITED));
      strictEqual((await readTask(spine, id)).result, null);
      await say(bot(2), id, 'The page has no table');
      expectData(await move(bot(2), id, 'failed'));
      deepStrictEqual(await end(id), ['dead', 'The page has no table', null]);
    });

    test('nor is one that the first worker has told of in an update [TQ-19]', async () => {
      const id = await parkedAndTaken((task) => say(bot(1), task, LIMITED.error));
      expectData(await move(bot(2), id, 'failed'));
      deepStrictEqual(await end(id), ['dead', null, null]);
    });

    test('who completes without a result has none, whatever was reported before [TQ-17 TQ-19]', async () => {
      const id = await parkedAndTaken((task) => report(bot(1), task, LIMITED));
      strictEqual(expectData(await move(bot(2), id, 'completed')).result, null);
      deepStrictEqual(await end(id), ['done', null, null]);
    });

    test('a task that is given back takes no result along [L4]', async () => {
      const { id } = await begun();
      await report(bot(1), id, LIMITED);
      strictEqual(expectData(await move(bot(1), id, 'pending')).result, null);
      strictEqual((await claimed(bot(2))).id, id);
      await say(bot(2), id, 'Login refused');
      expectData(await move(bot(2), id, 'failed'));
      deepStrictEqual(await end(id), ['dead', 'Login refused', null]);
    });

    test('a task that an admin opens again begins without a result, and one that is put right keeps its own [TQ-09]', async () => {
      const { id } = await begun();
      const set = async (status: string, more: object = {}): Promise<Task> =>
        expectData(await put(spine.admin.http, `${ADMIN}/tasks/${id}`, { status, ...more }));
      await report(bot(1), id, { error: 'broken' });
      expectData(await move(bot(1), id, 'failed'));
      // It was well after all: what came of it is still what came of it.
      deepStrictEqual((await set('completed')).result, { error: 'broken' });
      deepStrictEqual((await set('failed')).result, { error: 'broken' });
      const again = await set('pending', { assigned_to: bot(2).id });
      deepStrictEqual([again.status, again.result], ['pending', null]);
      expectData(await move(bot(2), id, 'in_progress'));
      expectData(await move(bot(2), id, 'failed'));
      deepStrictEqual(await end(id), ['dead', null, null]);
      const taken = await set('in_progress');
      deepStrictEqual([taken.status, taken.result], ['in_progress', null]);
      await report(bot(2), id, 'well');
      expectData(await move(bot(2), id, 'completed'));
      deepStrictEqual(await end(id), ['done', null, 'well']);
      const native = await spine.server.head.post(`/jobs/${id}/retry`);
      strictEqual(native.status, 200, native.text);
      strictEqual((await readTask(spine, id)).result, null);
      expectData(await put(spine.admin.http, `${ADMIN}/tasks/${id}`, { status: 'failed' }));
    });
  });
}
