/** Backups in a bucket of S3-compatible storage. The client is loaded only here, and this file only when a bucket is used. */

import { S3Client, S3Errors } from '@bradenmacdonald/s3-lite-client';
import { Patience } from './patience.ts';
import type { Place, Source } from './place.ts';
import { BackupProblem } from './problem.ts';

export interface Bucket {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly accessKey: string | null;
  readonly secretKey: string | null;
  readonly sessionToken: string | null;
}

export interface S3Options {
  readonly timeoutMs: number;
  readonly after: (delayMs: number, task: () => void) => () => void;
}

/** Up to this size an object goes in one request; of a larger one a few parts are in memory at once. */
const PART_BYTES = 8 * 1024 * 1024;
/** S3 takes 10,000 parts of one object. */
const MAX_PARTS = 9_000;

export function s3Place(bucket: Bucket, options: S3Options): Place {
  const client = clientOf(bucket);
  const name = `s3://${bucket.bucket}/${bucket.prefix}`;
  const patience = new Patience(`${bucket.endpoint} (${name})`, options.timeoutMs, options.after);
  const explain = (error: unknown): unknown => explained(error, bucket);
  const ask = async <T>(work: (alive: () => void) => Promise<T>): Promise<T> => {
    try {
      return await patience.with(work);
    } catch (error) {
      throw explain(error);
    }
  };
  const keyOf = (key: string): string => `${bucket.prefix}/${key}`;
  return {
    name,
    put: (key, source) => ask((alive) => upload(client, keyOf(key), source, alive)),
    async *read(key) {
      const { body } = await ask(() => client.getObject(keyOf(key)));
      try {
        if (body !== null) yield* patience.each(body);
      } catch (error) {
        throw explain(error);
      }
    },
    async *list(prefix) {
      try {
        for await (const { key, size } of patience.each(client.listObjects({ prefix: keyOf(prefix) })))
          yield { key: key.slice(bucket.prefix.length + 1), size };
      } catch (error) {
        throw explain(error);
      }
    },
    remove: (key) => ask(() => client.deleteObject(keyOf(key))),
  };
}

function clientOf({ endpoint, region, bucket, accessKey, secretKey, sessionToken }: Bucket): S3Client {
  return new S3Client({
    endPoint: endpoint,
    region,
    bucket,
    ...(accessKey !== null && secretKey !== null && { accessKey, secretKey }),
    ...(sessionToken !== null && { sessionToken }),
  });
}

async function upload(client: S3Client, key: string, source: Source, alive: () => void): Promise<void> {
  const partSize = Math.max(PART_BYTES, Math.ceil(source.size / MAX_PARTS));
  const bytes = source.size < PART_BYTES ? await wholeOf(source) : streamOf(source, alive);
  await client.putObject(key, bytes, { partSize, size: source.size });
}

async function wholeOf(source: Source): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source.open()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Each chunk that is taken shows that the one before has found its way. */
function streamOf(source: Source, alive: () => void): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = source.open()[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      alive();
      const next = await chunks.next();
      if (next.done === true) controller.close();
      else controller.enqueue(new Uint8Array(next.value));
    },
  });
}

const REFUSED = [
  'AccessDenied',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'ExpiredToken',
  'AuthorizationHeaderMalformed',
];

function explained(error: unknown, { endpoint, bucket, accessKey }: Bucket): unknown {
  if (error instanceof BackupProblem) return error;
  if (error instanceof S3Errors.ServerError) {
    const said = `${error.code}: ${error.message}`.replace(/\s+/g, ' ').slice(0, 300);
    if (error.code === 'NoSuchBucket')
      return new BackupProblem(
        'settings',
        `There is no bucket ${bucket} at ${endpoint}. Make it first.`,
        error,
      );
    if (error.statusCode === 404)
      return new BackupProblem('not_found', `${endpoint} has no such object (${said}).`, error);
    if (REFUSED.includes(error.code) || [401, 403].includes(error.statusCode)) {
      const who = accessKey === null ? 'no key is set' : `the key ${accessKey}`;
      const text = `${endpoint} does not let us into the bucket ${bucket} (${who}; ${said}). Look at the alias, or at AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`;
      return new BackupProblem('refused', text, error);
    }
    return new BackupProblem('unavailable', `${endpoint} answered ${error.statusCode} (${said}).`, error);
  }
  // What fetch throws says little; its cause says what happened.
  if (!(error instanceof TypeError)) return error;
  const { message, code = message } = (error.cause ?? error) as NodeJS.ErrnoException;
  return new BackupProblem('unavailable', `${endpoint} cannot be reached (${message || code}).`, error);
}
