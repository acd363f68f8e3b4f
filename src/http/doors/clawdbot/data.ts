/** Data that workers collect: each batch an object, and what lists of them show. */

import { isJsonObject } from '../../../domain/json-object.ts';
import { createHash } from 'node:crypto';
import { SpineError } from '../../../domain/error.ts';
import type { Job } from '../../../domain/job.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { type DataBatch, type DataItem, freshItems, isDataType } from '../../../domain/task-data.ts';
import { iso } from '../../iso.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { Type } from '../../typebox.ts';
import { pageByOffset } from './pages.ts';
import { data, enveloped } from './routes.ts';
import {
  DataBody,
  DataFileQuery,
  type DataFileQueryFields,
  DataQuery,
  type DataQueryFields,
  TaskParams,
} from './schemas.ts';
import { orNotYours, ownTask, taskNamed } from './tasks.ts';
import { around, nameOf } from './view.ts';
import { missing, problem } from './words.ts';

const Page = enveloped(Type.Object({}, { additionalProperties: true }));
const DEFAULT_PAGE = 100;
const MOST = 1_000;
/** What a batch takes in a list at most. */
const BATCH_BYTES = 1_000;
/** Somebody else may post the same at the same time; then it is looked at again. */
const LOOKS = 5;

const reading = (side: string, who: 'head' | 'worker', find: (call: Call) => Promise<Job>): Route[] => {
  const [ending, whose] = who === 'head' ? ['', 'a task'] : ['Own', 'a task of one’s own'];
  return [
    route({
      method: 'GET',
      path: `/api/v1/${side}/tasks/:id/data`,
      name: `list${ending}TaskData`,
      about: `List the batches of data that were collected for ${whose}, the oldest first; total counts their items.`,
      who: [who],
      params: TaskParams,
      query: DataQuery,
      answer: Page,
      errors: ['not_found'],
      handle: async (call) => listData(call, await find(call)),
    }),
    route({
      method: 'GET',
      path: `/api/v1/${side}/tasks/:id/data/file`,
      name: `get${ending}TaskData`,
      about: `Read one batch of data of ${whose}.`,
      who: [who],
      params: TaskParams,
      query: DataFileQuery,
      answer: Page,
      errors: ['not_found', 'forbidden', 'storage_unavailable', 'disk_full'],
      handle: async (call) => readData(call, await find(call)),
    }),
  ];
};

export const dataRoutes: readonly Route[] = [
  ...reading('admin/workers', 'head', taskNamed),
  ...reading('worker', 'worker', ownTask),
  route({
    method: 'POST',
    path: '/api/v1/worker/tasks/:id/data',
    name: 'addTaskData',
    load: 'job',
    about:
      'Keep a batch of 1 to 500 items. Of items with an external_id only those are kept that have not come before.',
    who: ['worker'],
    params: TaskParams,
    body: DataBody,
    status: 201,
    answer: Page,
    errors: ['not_found', 'conflict', 'storage_unavailable', 'disk_full'],
    handle: async (call) => {
      const { data_type: dataType } = call.body;
      const items = itemsOf(call.body.items);
      if (typeof dataType !== 'string' || !isDataType(dataType))
        throw problem('data_type', 'data_type must be a name of 1 to 100 letters, digits, _ and -');
      const job = await ownTask(call);
      return data(await orNotYours(keep(call, job, dataType, items)));
    },
  }),
];

function itemsOf(items: unknown): readonly DataItem[] {
  if (!Array.isArray(items) || items.length === 0) throw problem('items', 'items must be non-empty');
  if (items.length > LIMITS.itemsPerBatch)
    throw problem('items', `items exceeds maximum batch size of ${LIMITS.itemsPerBatch}`);
  return items.map((item: unknown, i) => itemOf(item, `items[${i}]`));
}

function itemOf(item: unknown, field: string): DataItem {
  if (!isJsonObject(item)) throw problem(field, `${field} must be an object`);
  if (item['data'] === undefined || item['data'] === null)
    throw problem(`${field}.data`, `${field}.data is required`);
  const text = (name: 'ticker' | 'external_id' | 'collected_at', max: number): object => {
    const value = item[name];
    if (value === undefined || value === null) return {};
    if (typeof value === 'string' && value.length > 0 && value.length <= max && !value.includes('\0'))
      return { [name]: value };
    const words = `must be text of 1 to ${max} characters`;
    throw problem(`${field}.${name}`, `${field}.${name} ${words}`);
  };
  return {
    ...text('ticker', LIMITS.nameChars),
    ...text('external_id', LIMITS.externalIdChars),
    ...text('collected_at', LIMITS.nameChars),
    data: item['data'],
  };
}

/**
 * Announced, stored, recorded: whoever dies in between leaves bytes that no list shows and that are removed later, and the
 * batch may be sent again.
 */
async function keep(call: Call, job: Job, dataType: string, items: readonly DataItem[]): Promise<object> {
  const { engine, actor, parts } = call;
  const { taskData } = engine;
  taskData.checkRunning(actor, job);
  const named = items.flatMap(({ external_id: id }) => id ?? []);
  for (let looks = 0; ; looks++) {
    const fresh = freshItems(items, await taskData.known(job, dataType, named));
    const counts = { inserted: fresh.length, skipped: items.length - fresh.length };
    if (fresh.length === 0)
      return { key: null, items: items.length, ...counts, total: await taskData.total(job) };
    const key = taskData.newKey(parts.objects.dataPrefix, job, dataType);
    const uploadedAt = iso(engine.now());
    const bytes = Buffer.from(
      JSON.stringify({
        task_id: job.id,
        data_type: dataType,
        uploaded_by: actor.name,
        uploaded_at: uploadedAt,
        item_count: fresh.length,
        items: fresh,
      }),
    );
    const externalIds = fresh.flatMap(({ external_id: id }) => id ?? []);
    const tickers = [...new Set(fresh.flatMap(({ ticker }) => ticker ?? []))];
    const batch = { key, dataType, items: fresh.length, size: bytes.length, sha256: sumOf(bytes) };
    await taskData.announce(actor, job, batch);
    await parts.objects.put(key, bytes);
    const isKept = await taskData
      .record(actor, job, batch, { externalIds, tickers })
      .catch(async (error: unknown) => {
        await takeBack(call, key);
        throw error;
      });
    if (isKept) return { key, items: items.length, ...counts, total: await taskData.total(job) };
    await takeBack(call, key);
    if (looks === LOOKS) throw problem('items', 'The same items come from several sides; send them again.');
  }
}

/** If that fails, the announcement is still there, by which it is done later. */
async function takeBack({ engine, actor, parts }: Call, key: string): Promise<void> {
  await parts.objects
    .remove(key)
    .then(() => engine.taskData.takeBack(actor, key))
    .catch(() => undefined);
}

function sumOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function listData(call: Call, job: Job) {
  // The schema of both routes.
  const query = call.query as DataQueryFields;
  const { data_type: dataType = null, ticker = null, limit = DEFAULT_PAGE, offset = 0 } = query;
  const { taskData } = call.engine;
  const { items: batches, next } = await pageByOffset(
    call,
    { limit, offset },
    {
      most: MOST,
      itemBytes: BATCH_BYTES,
      read: (from, count) => taskData.list(job, { dataType, ticker, limit: count, offset: from }),
      bytesOf: () => BATCH_BYTES,
    },
  );
  const total = await taskData.total(job, dataType, ticker);
  const users = await call.engine.users.called(batches.map(({ uploadedBy }) => uploadedBy));
  const files = batches.map(({ key, dataType: type, items, size, uploadedAt, uploadedBy }: DataBatch) => ({
    key,
    data_type: type,
    item_count: items,
    size,
    uploaded_at: iso(uploadedAt),
    uploaded_by: users.get(uploadedBy)?.id ?? uploadedBy,
    uploaded_by_name: nameOf(users, uploadedBy),
  }));
  return { ...data({ files, total, limit, offset }), has_more: next !== null };
}

async function readData(call: Call, job: Job): Promise<string> {
  const { key } = call.query as DataFileQueryFields;
  if (key === undefined || key === '') throw problem('key', 'key query parameter is required');
  const prefix = `${call.parts.objects.dataPrefix}/${job.id}/`;
  if (!key.startsWith(prefix)) throw missing('Invalid file reference', 'forbidden');
  const batch = await call.engine.taskData.batch(job, key);
  if (batch === null) throw missing('File not found');
  await call.parts.room.take(call, batch.size);
  const text = await textOf(call, batch);
  const { users } = await around(call.engine, [job], false);
  const uploader = users.get(batch.uploadedBy)?.id ?? batch.uploadedBy;
  // It was written here, and is JSON of one object.
  const shown = { ...(JSON.parse(text) as object), uploaded_by: uploader };
  return JSON.stringify(data(shown));
}

/** As it was stored: a storage may hand out something else, and more of it than anybody asked for. */
async function textOf({ parts, reply }: Call, { key, size, sha256 }: DataBatch): Promise<string> {
  const object = await parts.objects.open(key);
  if (object === null) throw missing('File not found');
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of object) {
    bytes += chunk.length;
    // Nobody is left to read it.
    if (bytes > size || reply.raw.destroyed) break;
    chunks.push(chunk);
  }
  const read = Buffer.concat(chunks);
  if (bytes === size && sumOf(read) === sha256) return read.toString('utf8');
  const problem = 'What the storage holds of this batch is not what was stored there.';
  throw new SpineError('storage_unavailable', { problem });
}
