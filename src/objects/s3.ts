/** Objects in a bucket of S3-compatible storage. This file is loaded only when a bucket is used. */

import { S3Client, S3Errors } from '@bradenmacdonald/s3-lite-client';
import { SpineError } from '../domain/error.ts';
import type { ObjectStore } from './objects.ts';

export interface ObjectBucket {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string | null;
  readonly secretKey: string | null;
  readonly sessionToken: string | null;
}

export interface S3Options {
  readonly dataPrefix: string;
  /** How long the storage may take for one answer. */
  readonly timeoutMs: number;
  readonly after: (delayMs: number, task: () => void) => () => void;
  /** What went wrong is for the log: whoever called learns that nothing was kept. */
  readonly onProblem: (what: string, error: unknown) => void;
}

export function s3Objects(bucket: ObjectBucket, options: S3Options): ObjectStore {
  const { endpoint, accessKey, secretKey, sessionToken, ...rest } = bucket;
  const client = new S3Client({
    ...rest,
    endPoint: endpoint,
    ...(accessKey !== null && secretKey !== null && { accessKey, secretKey }),
    ...(sessionToken !== null && { sessionToken }),
  });
  const ask = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await inTime(work(), options);
    } catch (error) {
      options.onProblem(`${what} s3://${bucket.bucket}`, error);
      throw new SpineError('storage_unavailable', {}, { cause: error });
    }
  };
  return {
    dataPrefix: options.dataPrefix,
    put: async (key, bytes) => {
      await ask('writing to', () => client.putObject(key, new Uint8Array(bytes), { size: bytes.length }));
    },
    open: async (key) =>
      ask('reading from', async () => {
        try {
          const { body } = await client.getObject(key);
          return body && chunksOf(body, (reading) => ask('reading from', reading));
        } catch (error) {
          if (error instanceof S3Errors.ServerError && error.code === 'NoSuchKey') return null;
          if (
            error instanceof S3Errors.ServerError &&
            error.statusCode === 404 &&
            error.code !== 'NoSuchBucket'
          )
            return null;
          throw error;
        }
      }),
    remove: async (key) => {
      await ask('removing from', () => client.deleteObject(key));
    },
  };
}

type Ask = <T>(work: () => Promise<T>) => Promise<T>;

/** A body may stop in the middle. Whoever wants no more of it lets the connection go. */
async function* chunksOf(body: ReadableStream<Uint8Array>, ask: Ask): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await ask(() => reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** The other side may never answer. */
async function inTime<T>(work: Promise<T>, { timeoutMs, after }: S3Options): Promise<T> {
  const { promise: tired, reject } = Promise.withResolvers<never>();
  const cancel = after(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs} ms`)));
  try {
    return await Promise.race([work, tired]);
  } finally {
    cancel();
  }
}
