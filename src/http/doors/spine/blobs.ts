/** Files at the Spine door: streamed in with a limit, streamed out as attachments. */

import type { MultipartFile } from '@fastify/multipart';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { contentDisposition } from '../../../blobs/filename.ts';
import { SpineError } from '../../../domain/error.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { Artifacts, Bytes, Stored } from './answers.ts';
import { jobId } from '../../job-id.ts';
import type { Parts } from '../../parts.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { type BlobRecord, storeFile, UNKNOWN_TYPE } from '../../store-file.ts';
import { fileFor, openWhole, type StoredFile } from '../../stored-file.ts';
import { endWhenStill } from '../../stuck-reader.ts';
import { DownloadQuery, LeaseHeaders, NamesQuery } from './schemas.ts';
import { iso } from '../../iso.ts';
import { leaseHeader } from './leases.ts';

const UPLOADING = ['missing_file', 'storage_unavailable'] as const;

export const blobRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/blobs',
    name: 'uploadBlob',
    v0: true,
    about: 'Store a file.',
    who: ['head', 'worker'],
    upload: true,
    answer: Stored,
    errors: UPLOADING,
    handle: (call) => upload(call, (record) => call.engine.blobs.save(call.actor, record)),
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/blobs',
    name: 'attachBlob',
    about: 'Store a file as an artifact of a running job.',
    who: ['head', 'worker', 'run'],
    headers: LeaseHeaders,
    upload: true,
    answer: Stored,
    errors: [
      ...UPLOADING,
      'not_found',
      'forbidden',
      'not_owner',
      'not_running',
      'lease_lost',
      'lease_token_required',
    ],
    handle: async (call) => {
      const { engine, actor } = call;
      const id = await jobId(call);
      // Looked at before the bytes are taken in; whether the lease still holds is judged after them.
      await engine.jobs.get(actor, id);
      const leaseToken = leaseHeader(call.request) ?? actor.leaseToken ?? null;
      return upload(call, (record) => engine.blobs.attach(actor, id, leaseToken, record));
    },
  }),
  route({
    method: 'GET',
    path: '/jobs/:id/blobs',
    name: 'listBlobs',
    about: 'List the artifacts of a job.',
    who: ['head', 'worker', 'viewer', 'run'],
    query: NamesQuery,
    answer: Artifacts,
    errors: ['not_found', 'forbidden'],
    handle: async (call) => {
      const { after = null, limit = LIMITS.pageJobs } = call.query;
      const blobs = await call.engine.blobs.ofJob(call.actor, await jobId(call), after, limit);
      const last = blobs.length === limit ? blobs.at(-1) : undefined;
      return { blobs: blobs.map(artifactView), nextAfter: last?.id ?? null };
    },
  }),
  route({
    method: 'GET',
    path: '/blobs/:id',
    name: 'downloadBlob',
    about: 'Get a file back, unchanged.',
    who: ['head', 'worker', 'viewer', 'run'],
    query: DownloadQuery,
    answer: Bytes,
    media: UNKNOWN_TYPE,
    cached: true,
    errors: ['not_found', 'forbidden', 'artifact_damaged', 'storage_unavailable'],
    handle: download,
  }),
];

async function upload(
  { request, parts }: Call,
  save: (record: BlobRecord) => Promise<unknown>,
): Promise<object> {
  try {
    return await store(parts, request, save);
  } catch (error) {
    // Nobody reads the rest as a form any more: it is read past with the answer.
    request.raw.unpipe();
    throw error;
  }
}

async function store(
  parts: Parts,
  request: FastifyRequest,
  save: (record: BlobRecord) => Promise<unknown>,
): Promise<object> {
  const { filename, mimetype, file } = await filePartOf(request);
  return await storeFile(parts, { filename, contentType: mimetype, content: readPart(file) }, save);
}

async function filePartOf(request: FastifyRequest): Promise<MultipartFile> {
  let part: MultipartFile | undefined;
  try {
    part = await request.file();
  } catch (error) {
    throw asCallersFault(error);
  }
  if (part?.fieldname !== 'file') throw new SpineError('missing_file');
  return part;
}

/** Keeps what is wrong with the upload apart from what may be wrong with our disk. */
async function* readPart(file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* file;
  } catch (error) {
    throw asCallersFault(error);
  }
}

/** The plugin's own errors have a code; the parser below it throws plain ones. */
function asCallersFault(error: unknown): unknown {
  if ((error as { code?: string }).code?.startsWith('FST_')) return error;
  const message = `The upload cannot be read: ${(error as Error).message}.`;
  return new SpineError('bad_request', {}, { cause: error, message });
}

async function download(call: Call<unknown, Static<typeof DownloadQuery>>): Promise<FastifyReply> {
  const { request, reply } = call;
  const { id = '' } = call.params;
  const blob = await fileFor(call, id);
  const etag = `"${blob.sha256}"`;
  reply.headers({
    etag,
    'content-type': blob.contentType,
    'content-disposition': contentDisposition(blob.filename),
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    'repr-digest': `sha-256=:${Buffer.from(blob.sha256, 'hex').toString('base64')}:`,
  });
  const isKnown = request.headers['if-none-match'] === etag;
  if (isKnown && call.query.verify !== true) return reply.code(304).send();
  const bytes = await openWhole(call.parts, blob, call.query.verify === true);
  if (isKnown) {
    bytes.content.destroy();
    return reply.code(304).send();
  }
  endWhenStill(reply.raw, call.parts.clock);
  return reply.header('content-length', bytes.size).send(bytes.content);
}

function artifactView({ id, filename, size, sha256, contentType, createdAt, createdBy }: StoredFile): object {
  return { id, filename, size, sha256, contentType, createdAt: iso(createdAt), createdBy };
}
