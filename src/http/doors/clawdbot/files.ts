/** Files that workers put into the storage by themselves, and tell of here. */

import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Job } from '../../../domain/job.ts';
import { isOwnResult, type ResultFile, resultPrefix } from '../../../domain/task-data.ts';
import { contentDisposition } from '../../../blobs/filename.ts';
import { iso } from '../../iso.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { endWhenStill } from '../../stuck-reader.ts';
import { Type } from '../../typebox.ts';
import { data, enveloped } from './routes.ts';
import { FileBody, FilesQuery, type FilesQueryFields, FileParams, TaskParams } from './schemas.ts';
import { orNotYours, ownTask, taskNamed } from './tasks.ts';
import type { Around } from './view.ts';
import { isUuid, missing, problem } from './words.ts';

const UNKNOWN_TYPE = 'application/octet-stream';
const DEFAULT_PAGE = 100;
const Page = enveloped(Type.Object({}, { additionalProperties: true }));
const Bytes = Type.Unsafe({ type: 'string', format: 'binary' });

export const fileRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/worker/tasks/:id/files',
    name: 'addTaskFile',
    about: 'Tell of a file in the storage, under worker-results/ and the id of the task.',
    who: ['worker'],
    params: TaskParams,
    body: FileBody,
    status: 201,
    answer: Page,
    errors: ['not_found', 'conflict'],
    handle: async (call) => {
      const { engine, actor, body } = call;
      const job = await ownTask(call);
      if (!isOwnResult(body.s3_key, job.id))
        throw problem('s3_key', `invalid s3_key: must start with ${resultPrefix(job.id)}`);
      const file = await orNotYours(
        engine.taskData.register(actor, job, {
          filename: body.filename,
          key: body.s3_key,
          contentType: typeOf(body.content_type),
          size: body.size_bytes ?? 0,
        }),
      );
      return data(fileView(file, job, await engine.users.called([actor.name])));
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/workers/tasks/:id/files',
    name: 'listTaskFiles',
    about: 'List the files of a task, the oldest first.',
    who: ['head'],
    params: TaskParams,
    query: FilesQuery,
    answer: Page,
    errors: ['not_found'],
    handle: async (call) => listFiles(call, await taskNamed(call)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/workers/tasks/:id/files/:fileId/download',
    name: 'downloadTaskFile',
    about: 'Get a file of a task.',
    who: ['head'],
    params: FileParams,
    answer: Bytes,
    media: UNKNOWN_TYPE,
    errors: ['not_found', 'forbidden', 'storage_unavailable'],
    handle: download,
  }),
];

function typeOf(given: string | null | undefined): string {
  if (given === undefined || given === null || given === '') return UNKNOWN_TYPE;
  if (/^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(given)) return given.toLowerCase();
  throw problem('content_type', 'content_type must be a type like text/csv');
}

async function listFiles({ engine, query }: Call, job: Job) {
  const { limit = DEFAULT_PAGE, offset = 0 } = query as FilesQueryFields;
  const { files, total } = await engine.taskData.files(job, limit, offset);
  const users = await engine.users.called(files.map(({ uploadedBy }) => uploadedBy));
  return data({ files: files.map((file) => fileView(file, job, users)), total, limit, offset });
}

async function download(call: Call): Promise<FastifyReply> {
  const { engine, parts, reply } = call;
  const job = await taskNamed(call);
  const { fileId = '' } = call.params;
  if (!isUuid(fileId)) throw problem('fileId', 'Invalid file ID');
  const file = await engine.taskData.file(job, fileId);
  if (file === null) throw missing('File not found');
  // Whatever wrote the row: nothing is read but what is the task's own.
  if (!isOwnResult(file.key, job.id)) throw missing('Invalid file reference', 'forbidden');
  const content = await parts.objects.open(file.key);
  if (content === null) throw missing('File not found');
  reply.headers({
    'content-type': file.contentType,
    'content-disposition': contentDisposition(file.filename),
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  });
  endWhenStill(reply.raw, parts.clock);
  return reply.send(Readable.from(content));
}

function fileView(file: ResultFile, { id: taskId }: Job, users: Around['users']) {
  const { id, filename, key, contentType, size, uploadedBy, createdAt } = file;
  return {
    id,
    task_id: taskId,
    filename,
    s3_key: key,
    content_type: contentType,
    size_bytes: size,
    uploaded_by: users.get(uploadedBy)?.id ?? uploadedBy,
    created_at: iso(createdAt),
  };
}
