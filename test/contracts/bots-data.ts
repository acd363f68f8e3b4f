import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import {
  addTask,
  ADMIN,
  type Bot,
  type BotServer,
  claimed,
  type Enveloped,
  expectData,
  expectError,
  move,
  type StartBots,
  WORKER,
} from './bot-cases.ts';

export interface Posted {
  readonly key: string | null;
  readonly items: number;
  readonly inserted: number;
  readonly skipped: number;
  readonly total: number;
}
export interface Listed {
  readonly files: readonly {
    readonly key: string;
    readonly data_type: string;
    readonly item_count: number;
  }[];
  readonly total: number;
}
interface FileRow {
  readonly id: string;
  readonly filename: string;
  readonly s3_key: string;
  readonly content_type: string;
}

const NOT_YOURS = 'Task not found or not assigned to you';

export const post = ({ http }: Bot, id: string, data_type: unknown, items: unknown) =>
  http.post<Enveloped<Posted>>(`${WORKER}/tasks/${id}/data`, { data_type, items });

const items = (...names: readonly string[]) =>
  names.map((external_id) => ({ external_id, ticker: 'NVDA', data: { text: external_id } }));

/** What bots collect. */
export function botDataCases(start: StartBots): void {
  suite('data and files', () => {
    let spine: BotServer;
    before(async () => {
      spine = await start();
    });
    after(() => spine.stop());
    const bot = (n: number): Bot => {
      const found = spine.bots[n - 1];
      if (found === undefined) throw new Error(`there is no W${n}`);
      return found;
    };
    const begun = async (): Promise<string> => {
      const { id } = await addTask(spine);
      strictEqual((await claimed(bot(1))).id, id);
      return id;
    };

    test('a batch of data has from 1 to 500 items, each with data, and a type that is a name [TQ-18 L8]', async () => {
      const id = await begun();
      expectError(await post(bot(1), id, 'reddit_post', []), 400, 'items must be non-empty');
      const many = Array.from({ length: 501 }, () => ({ data: 1 }));
      expectError(
        await post(bot(1), id, 'reddit_post', many),
        400,
        'items exceeds maximum batch size of 500',
      );
      expectError(await post(bot(1), id, 'reddit_post', [{ ticker: 'X' }]), 400, 'items[0].data is required');
      expectError(await post(bot(1), id, 'reddit_post', ['x']), 400, /^items\[0\] must be/);
      for (const type of ['../../x', 'a/b', '..', '', 'x'.repeat(101), 7, undefined])
        expectError(await post(bot(1), id, type, items('a')), 400, /^data_type must be/);
      const kept = expectData(await post(bot(1), id, 'reddit_post', many.slice(1)), 201);
      deepStrictEqual([kept.items, kept.inserted, kept.skipped, kept.total], [500, 500, 0, 500]);
      expectError(await post(bot(2), id, 'reddit_post', items('a')), 404, NOT_YOURS);
      expectData(await move(bot(1), id, 'completed'));
      expectError(
        await post(bot(1), id, 'reddit_post', items('a')),
        400,
        "Can only post data to tasks with status 'in_progress'",
      );
    });

    test('items are kept once, and lie where the text says [TQ-11 TQ-18 L9]', async () => {
      const id = await begun();
      const first = expectData(await post(bot(1), id, 'reddit_post', items('a', 'b', 'b')), 201);
      deepStrictEqual([first.inserted, first.skipped, first.total], [2, 1, 2]);
      match(first.key ?? '', new RegExp(`^worker-data/${id}/reddit_post/\\d{8}T\\d{6}Z_[0-9a-f]{8}\\.json$`));
      const second = expectData(await post(bot(1), id, 'reddit_post', items('b', 'c')), 201);
      deepStrictEqual([second.inserted, second.skipped, second.total], [1, 1, 3]);
      const none = expectData(await post(bot(1), id, 'reddit_post', items('c')), 201);
      deepStrictEqual([none.key, none.inserted, none.total], [null, 0, 3]);
      const other = expectData(await post(bot(1), id, 'news', items('a')), 201);
      deepStrictEqual([other.inserted, other.total], [1, 4]);
      for (const [who, path] of [
        [spine.admin, `${ADMIN}/tasks/${id}/data`],
        [bot(1), `${WORKER}/tasks/${id}/data`],
      ] as const) {
        const list = async (query = '') =>
          expectData(await who.http.get<Enveloped<Listed>>(`${path}${query}`));
        const all = await list();
        deepStrictEqual([all.total, all.files.map(({ item_count: n }) => n)], [4, [2, 1, 1]]);
        deepStrictEqual((await list('?data_type=news')).total, 1);
        deepStrictEqual((await list('?ticker=NVDA')).total, 4);
        deepStrictEqual((await list('?ticker=NV')).total, 0);
        deepStrictEqual((await list('?limit=1&offset=1')).files[0]?.key, second.key);
        const key = encodeURIComponent(first.key ?? '');
        const file = expectData(
          await who.http.get<Enveloped<{ items: { external_id: string }[] } & Record<string, unknown>>>(
            `${path}/file?key=${key}`,
          ),
        );
        deepStrictEqual(
          [file['task_id'], file['data_type'], file['item_count'], file['uploaded_by']],
          [id, 'reddit_post', 2, bot(1).id],
        );
        deepStrictEqual(
          file.items.map((item) => item.external_id),
          ['a', 'b'],
        );
        expectError(await who.http.get(`${path}/file`), 400, 'key query parameter is required');
        const foreign = await begunElsewhere();
        for (const [bad, status, words] of [
          [foreign, 403, 'Invalid file reference'],
          ['secret', 403, 'Invalid file reference'],
          [`worker-data/${id}/../../spine.id`, 404, 'File not found'],
          [`worker-data/${id}/reddit_post/nothing.json`, 404, 'File not found'],
          [`worker-data/${id}/\0`, 400, 'key must not hold a NUL character.'],
        ] as const)
          expectError(await who.http.get(`${path}/file?key=${encodeURIComponent(bad)}`), status, words);
      }
      expectError(await bot(2).http.get(`${WORKER}/tasks/${id}/data`), 404, NOT_YOURS);
      expectData(await move(bot(1), id, 'completed'));
    });

    /** The key of another task's batch. */
    async function begunElsewhere(): Promise<string> {
      const { id } = await addTask(spine, { priority: 'urgent' });
      strictEqual((await claimed(bot(2))).id, id);
      const { key } = expectData(await post(bot(2), id, 'reddit_post', items('x')), 201);
      expectData(await move(bot(2), id, 'completed'));
      ok(key !== null);
      return key;
    }

    test('the same items from several calls at once are counted once [TQ-18]', async () => {
      const id = await begun();
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => post(bot(1), id, 'burst', items('p', 'q'))),
      );
      const counts = answers.map((answer) => expectData(answer, 201));
      strictEqual(
        counts.reduce((sum, { inserted }) => sum + inserted, 0),
        2,
      );
      const { total, files } = expectData(
        await bot(1).http.get<Enveloped<Listed>>(`${WORKER}/tasks/${id}/data`),
      );
      deepStrictEqual([total, files.length], [2, 1]);
      const large = { data_type: 'x', items: [{ data: 'x'.repeat(20 * 1_048_576) }] };
      expectError(await bot(1).http.post(`${WORKER}/tasks/${id}/data`, large), 413, /larger than the limit/);
      expectData(await move(bot(1), id, 'completed'));
    });

    test('a batch that is not what was stored is no answer, and no fault of the server [TQ-11]', async () => {
      const id = await begun();
      const { key } = expectData(await post(bot(1), id, 'news', items('a')), 201);
      const file = join(spine.server.dataDir, 'objects', key ?? '');
      const path = `${WORKER}/tasks/${id}/data/file?key=${encodeURIComponent(key ?? '')}`;
      const text = await readFile(file, 'utf8');
      for (const broken of ['{"items":[', text.replace('"a"', '"b"'), `${text} `, '', text.repeat(100)]) {
        await writeFile(file, broken);
        expectError(await bot(1).http.get(path), 503, /^What the storage holds of this batch is not what/);
      }
      await writeFile(file, text);
      expectData(await bot(1).http.get<Enveloped>(path));
      expectData(await move(bot(1), id, 'completed'));
    });

    test('a file of a task is told of under its own folder alone [L10]', async () => {
      const id = await begun();
      const path = `${WORKER}/tasks/${id}/files`;
      const tell = (s3_key: string, more: object = {}) =>
        bot(1).http.post<Enveloped<FileRow>>(path, { filename: 'a.csv', s3_key, ...more });
      const words = `invalid s3_key: must start with worker-results/${id}/`;
      for (const key of [
        'worker-results/00000000-0000-4000-8000-000000000000/x',
        `worker-results/${id}/../../secret`,
        `worker-results/${id}/..`,
        `worker-results/${id}/a/./b`,
        `worker-results/${id}//b`,
        `worker-results/${id}/`,
        `worker-results/${id}/..\\x`,
        `worker-results/${id}/%2e%2e/x`,
      ])
        expectError(await tell(key), 400, words);
      expectError(await tell(`worker-results/${id}/a`, { content_type: 'no type' }), 400, /^content_type/);
      const file = expectData(
        await tell(`worker-results/${id}/deep/a.csv`, { content_type: 'text/csv', size_bytes: 12 }),
        201,
      );
      deepStrictEqual([file.filename, file.content_type], ['a.csv', 'text/csv']);
      const listed = expectData(
        await spine.admin.http.get<Enveloped<{ files: FileRow[]; total: number }>>(
          `${ADMIN}/tasks/${id}/files`,
        ),
      );
      deepStrictEqual([listed.total, listed.files[0]?.s3_key], [1, `worker-results/${id}/deep/a.csv`]);
      const at = `${ADMIN}/tasks/${id}/files`;
      // The bot has not put it there yet.
      expectError(await spine.admin.http.get(`${at}/${file.id}/download`), 404, 'File not found');
      expectError(await spine.admin.http.get(`${at}/x/download`), 400, 'Invalid file ID');
      expectError(await spine.admin.http.get(`${at}/${spine.admin.id}/download`), 404, 'File not found');
      expectData(await move(bot(1), id, 'completed'));
      expectError(
        await tell(`worker-results/${id}/late`),
        400,
        "Can only register files for tasks with status 'in_progress'",
      );
    });
  });
}
