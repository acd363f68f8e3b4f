import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { S3Client } from '@bradenmacdonald/s3-lite-client';
import { until } from '../support/clock.ts';
import { givenS3 } from '../support/s3/given.ts';
import { startServer, WITHOUT_FILES } from '../support/server.ts';
import {
  addTask,
  ADMIN,
  claimed,
  type Enveloped,
  expectData,
  expectError,
  move,
  peopled,
  WORKER,
} from './bot-cases.ts';
import { type Listed, post } from './bots-data.ts';

/** Waited for here: its first installation may take longer than a test. */
const given = await givenS3();

test('what bots collect lies in a bucket, and is not kept while that is away [TQ-11 TQ-18]', async (t) => {
  if ('missing' in given) return t.skip(given.missing);
  const { endpoint, accessKey, secretKey } = given;
  const bucket = `treasure-${process.pid}`;
  const client = new S3Client({ endPoint: endpoint, region: 'us-east-1', bucket, accessKey, secretKey });
  await client.makeBucket(bucket);
  const env = {
    ...WITHOUT_FILES,
    S3_BUCKET: bucket,
    S3_ENDPOINT: endpoint,
    S3_WORKER_DATA_PREFIX: 'worker-data',
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: secretKey,
  };
  const server = await startServer({ env });
  const spine = await peopled(server, 1);
  t.after(() => spine.stop());
  const [bot] = spine.bots;
  ok(bot);
  const { id } = await addTask(spine);
  strictEqual((await claimed(bot)).id, id);
  const { key } = expectData(await post(bot, id, 'news', [{ external_id: 'a', data: { ünï: 1 } }]), 201);
  match(key ?? '', new RegExp(`^worker-data/${id}/news/`));
  const object = (await (await client.getObject(key ?? '')).json()) as { items: unknown[]; task_id: string };
  deepStrictEqual([object.task_id, object.items], [id, [{ external_id: 'a', data: { ünï: 1 } }]]);
  const read = await bot.http.get<Enveloped<{ items: unknown[] }>>(
    `${WORKER}/tasks/${id}/data/file?key=${encodeURIComponent(key ?? '')}`,
  );
  deepStrictEqual(expectData(read).items, object.items);

  const result = `worker-results/${id}/report.csv`;
  await client.putObject(result, 'a,b\n1,2\n');
  const file = expectData(
    await bot.http.post<Enveloped<{ id: string }>>(`${WORKER}/tasks/${id}/files`, {
      filename: 'report.csv',
      s3_key: result,
      content_type: 'text/csv',
    }),
    201,
  );
  const download = await spine.admin.http.get(`${ADMIN}/tasks/${id}/files/${file.id}/download`);
  deepStrictEqual(
    [download.status, download.text, download.headers['content-type']],
    [200, 'a,b\n1,2\n', 'text/csv'],
  );
  match(download.headers['content-disposition'] ?? '', /^attachment/);

  // A whole batch comes back as it was sent, and no name of a type leads out of the task's own folder.
  const many = Array.from({ length: 500 }, (_, i) => ({
    external_id: `n${i}`,
    data: { text: `post ${i} ✓` },
  }));
  const whole = expectData(await post(bot, id, 'many', many), 201);
  deepStrictEqual([whole.items, whole.inserted, whole.total], [500, 500, 501]);
  const back = await bot.http.get<Enveloped<{ items: unknown[] }>>(
    `${WORKER}/tasks/${id}/data/file?key=${encodeURIComponent(whole.key ?? '')}`,
  );
  deepStrictEqual(expectData(back).items, many);
  for (const type of ['../../x', '..', 'a/b', `../${id}/x`])
    expectError(await post(bot, id, type, many.slice(0, 1)), 400, /^data_type must be/);
  const names: string[] = [];
  for await (const { key: name } of client.listObjects()) names.push(name);
  deepStrictEqual(names.toSorted(), [key ?? '', whole.key ?? '', result].toSorted());

  // The bucket goes away: nothing is recorded, and the server goes on.
  await client.deleteObject(key ?? '');
  await client.deleteObject(whole.key ?? '');
  await client.deleteObject(result);
  await client.removeBucket(bucket);
  expectError(await post(bot, id, 'news', [{ external_id: 'b', data: 1 }]), 503, 'Storage not available');
  expectError(
    await spine.admin.http.get(`${ADMIN}/tasks/${id}/files/${file.id}/download`),
    503,
    'Storage not available',
  );
  const list = expectData(await bot.http.get<Enveloped<Listed>>(`${WORKER}/tasks/${id}/data`));
  deepStrictEqual([list.total, list.files.length], [501, 2]);
  await client.makeBucket(bucket);
  const again = expectData(await post(bot, id, 'news', [{ external_id: 'b', data: 1 }]), 201);
  deepStrictEqual([again.inserted, again.total], [1, 502]);
  expectData(await move(bot, id, 'completed'));
  ok(!server.output().includes(secretKey));
});

test('a wrong secret is refused by the storage: nothing is kept, and the log says why [TQ-11 TQ-18]', async (t) => {
  if ('missing' in given) return t.skip(given.missing);
  const { endpoint, accessKey, secretKey } = given;
  const bucket = `locked-${process.pid}`;
  const client = new S3Client({ endPoint: endpoint, region: 'us-east-1', bucket, accessKey, secretKey });
  await client.makeBucket(bucket);
  const wrong = `not-${secretKey}`;
  const env = {
    S3_BUCKET: bucket,
    S3_ENDPOINT: endpoint,
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: wrong,
  };
  const spine = await peopled(await startServer({ env, logLevel: 'warn' }), 1);
  t.after(() => spine.stop());
  const [bot] = spine.bots;
  ok(bot);
  const { id } = await addTask(spine);
  strictEqual((await claimed(bot)).id, id);
  expectError(await post(bot, id, 'news', [{ external_id: 'a', data: 1 }]), 503, 'Storage not available');
  const list = expectData(await bot.http.get<Enveloped<Listed>>(`${WORKER}/tasks/${id}/data`));
  deepStrictEqual([list.total, list.files], [0, []]);
  const names: string[] = [];
  for await (const { key } of client.listObjects()) names.push(key);
  deepStrictEqual(names, []);
  await until('the log says why', () => /storage of task data failed/.test(spine.server.output()));
  ok(!spine.server.output().includes(wrong));
  expectData(await move(bot, id, 'completed'));
});
