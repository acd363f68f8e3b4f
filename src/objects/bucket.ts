/** A bucket of S3-compatible storage. This file is loaded only when one is used. */

import { S3Client, S3Errors } from '@bradenmacdonald/s3-lite-client';
import { SpineError } from '../domain/error.ts';

export interface BucketPlace {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string | null;
  readonly secretKey: string | null;
  readonly sessionToken: string | null;
}

export interface BucketOptions {
  /** How long the storage may take for one answer. */
  readonly timeoutMs: number;
  readonly after: (delayMs: number, task: () => void) => () => void;
  /** What went wrong is for the log: whoever called learns that the storage is away. */
  readonly onProblem: (what: string, error: unknown) => void;
}

export interface OpenObject {
  readonly content: AsyncIterableIterator<Uint8Array>;
  readonly size: number;
}

/** Every call fails with `storage_unavailable` when the storage says no, or nothing in time. */
export interface Bucket {
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** As it is read: the object is there with all of its bytes, or not at all. */
  upload(key: string, size: number, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** Null when there is no such object. */
  open(key: string): Promise<OpenObject | null>;
  remove(key: string): Promise<void>;
  keys(prefix: string): AsyncGenerator<string>;
  /** When it was put there, by the storage's clock; null when there is no such object. */
  writtenAt(key: string): Promise<number | null>;
}

/** For whoever may read the address meanwhile. */
const SIGNED_FOR_S = 3_600;

export function openBucket(place: BucketPlace, options: BucketOptions): Bucket {
  const { endpoint, accessKey, secretKey, sessionToken, ...rest } = place;
  const client = new S3Client({
    ...rest,
    endPoint: endpoint,
    ...(accessKey !== null && secretKey !== null && { accessKey, secretKey }),
    ...(sessionToken !== null && { sessionToken }),
  });
  const ask = async <T>(what: string, work: (waiting: Waiting) => Promise<T>): Promise<T> => {
    try {
      return await inTime(work, options);
    } catch (error) {
      options.onProblem(`${what} s3://${place.bucket}`, error);
      throw new SpineError('storage_unavailable', {}, { cause: error });
    }
  };
  return {
    put: async (key, bytes) => {
      await ask('writing to', () => client.putObject(key, new Uint8Array(bytes), { size: bytes.length }));
    },
    upload: (key, size, content) =>
      ask('writing to', async (waiting) => {
        const url = await client.getPresignedUrl('PUT', key, { expirySeconds: SIGNED_FOR_S });
        await send(url, size, content, waiting);
      }),
    open: (key) =>
      ask('reading from', () =>
        unlessMissing(async () => {
          const { body, headers } = await client.getObject(key);
          if (body === null) return null;
          const content = chunksOf(body, (reading) => ask('reading from', reading));
          return { content, size: Number(headers.get('content-length') ?? Number.NaN) };
        }),
      ),
    remove: (key) => ask('removing from', () => client.deleteObject(key)),
    async *keys(prefix) {
      const listed = client.listObjects({ prefix });
      for (;;) {
        const next = await ask('listing', () => listed.next());
        if (next.done === true) return;
        yield next.value.key;
      }
    },
    writtenAt: (key) =>
      ask('looking into', () =>
        unlessMissing(async () => (await client.statObject(key)).lastModified.getTime()),
      ),
  };
}

async function unlessMissing<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    const { code, statusCode } = error instanceof S3Errors.ServerError ? error : { code: '', statusCode: 0 };
    if (code === 'NoSuchKey' || (statusCode === 404 && code !== 'NoSuchBucket')) return null;
    throw error;
  }
}

type Ask = <T>(work: () => Promise<T>) => Promise<T>;

/** A body may stop in the middle. Whoever wants no more of it, or never began, lets the connection go. */
function chunksOf(body: ReadableStream<Uint8Array>, ask: Ask): AsyncIterableIterator<Uint8Array> {
  const reader = body.getReader();
  const end = async (): Promise<IteratorResult<Uint8Array>> => {
    reader.cancel().catch(() => undefined);
    return { done: true, value: undefined };
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      try {
        const { done, value } = await ask(() => reader.read());
        return done ? { done, value: undefined } : { done, value };
      } catch (error) {
        await end();
        throw error;
      }
    },
    return: end,
  };
}

/** The client itself would keep all of it in memory. */
async function send(
  url: string,
  size: number,
  content: AsyncIterable<Uint8Array>,
  { alive, signal }: Waiting,
): Promise<void> {
  const answer = await fetch(url, {
    method: 'PUT',
    headers: { 'content-length': String(size) },
    body: ReadableStream.from(told(content, alive)),
    duplex: 'half',
    redirect: 'error',
    signal,
  });
  const said = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${said.replace(/\s+/g, ' ').slice(0, 300)}`);
}

/** Each chunk that is asked for shows that the one before has found its way. */
async function* told(content: AsyncIterable<Uint8Array>, alive: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    alive();
    yield chunk;
  }
  alive();
}

interface Waiting {
  /** There is progress: the time for one answer begins again. */
  readonly alive: () => void;
  readonly signal: AbortSignal;
}

/** The other side may never answer. */
async function inTime<T>(
  work: (waiting: Waiting) => Promise<T>,
  { timeoutMs, after }: BucketOptions,
): Promise<T> {
  const { promise: tired, reject } = Promise.withResolvers<never>();
  const abort = new AbortController();
  const giveUp = (): void => {
    const problem = new Error(`no answer within ${timeoutMs} ms`);
    reject(problem);
    abort.abort(problem);
  };
  let cancel = after(timeoutMs, giveUp);
  const alive = (): void => {
    cancel();
    if (!abort.signal.aborted) cancel = after(timeoutMs, giveUp);
  };
  try {
    return await Promise.race([work({ alive, signal: abort.signal }), tired]);
  } finally {
    abort.abort();
    cancel();
  }
}
