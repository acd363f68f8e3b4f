/** Files at the Spine door: streamed in with a limit, streamed out as attachments. */

import multipart, { type MultipartFile } from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BlobStore } from '../../blobs/blobs.ts';
import { contentDisposition, displayName } from '../../blobs/filename.ts';
import { SpineError } from '../../domain/error.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Authenticate } from '../auth.ts';
import { admit } from '../routes.ts';

export interface BlobDoor {
  readonly engine: Engine;
  readonly authenticate: Authenticate;
  readonly blobStore: BlobStore;
  readonly blobLimitBytes: number;
}

export const BLOB_PATHS = [
  { method: 'POST', path: '/blobs' },
  { method: 'GET', path: '/blobs/:id' },
] as const;

/** A plugin of its own, so that no other route takes multipart bodies. */
export function blobDoor(door: BlobDoor): (app: FastifyInstance) => Promise<void> {
  return async (app) => {
    // The store counts the bytes itself; one byte more than allowed must reach it to be noticed.
    const limits = {
      fileSize: door.blobLimitBytes + 1,
      files: 1,
      parts: 8,
      fieldNameSize: 100,
      headerPairs: 32,
      headerSize: 16_384,
    };
    await app.register(multipart, { limits, throwFileSizeLimit: false });
    app.post('/blobs', { onRequest: admit(['head', 'worker'], door.authenticate) }, (request, reply) =>
      upload(door, request, reply),
    );
    app.get<{ Params: { id: string } }>(
      '/blobs/:id',
      { onRequest: admit(['head', 'worker', 'viewer'], door.authenticate) },
      (request, reply) => download(door, request.params.id, request, reply),
    );
  };
}

async function upload(door: BlobDoor, request: FastifyRequest, reply: FastifyReply): Promise<object> {
  try {
    return await store(door, request);
  } catch (error) {
    // The rest of a refused upload is read past, or the caller would never get to read why;
    // then the connection ends, because nobody knows where its next request would begin.
    request.raw.unpipe();
    request.raw.resume();
    reply.header('connection', 'close');
    throw error;
  }
}

async function store(
  { engine, blobStore, blobLimitBytes }: BlobDoor,
  request: FastifyRequest,
): Promise<object> {
  const part = await filePartOf(request);
  const { id, size, sha256, path } = await blobStore.put(readPart(part.file), blobLimitBytes);
  const filename = displayName(part.filename);
  try {
    await engine.blobs.save(request.actor, {
      id,
      filename,
      size,
      sha256,
      contentType: plainType(part.mimetype),
    });
  } catch (error) {
    await blobStore.remove(id);
    throw error;
  }
  return { id, filename, size, path, sha256 };
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

const UNKNOWN_TYPE = 'application/octet-stream';

function plainType(given: string): string {
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(given) ? given.toLowerCase() : UNKNOWN_TYPE;
}

async function download(
  { engine, blobStore }: BlobDoor,
  id: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (!/^[\w-]{1,64}$/.test(id)) throw new SpineError('not_found');
  const blob = await engine.blobs.get(id);
  const etag = `"${blob.sha256}"`;
  reply.headers({
    etag,
    'content-type': blob.contentType,
    'content-disposition': contentDisposition(blob.filename),
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    'repr-digest': `sha-256=:${Buffer.from(blob.sha256, 'hex').toString('base64')}:`,
  });
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  const bytes = await blobStore.open(id);
  if (bytes === null) throw new SpineError('not_found');
  return reply.header('content-length', bytes.size).send(bytes.content);
}
