/** Buckets that the settings name: one storage and one pair of keys for all of them. */

import { type Config, ConfigError } from '../config.ts';
import type { Clock } from '../domain/ports.ts';
import type { Bucket } from '../objects/bucket.ts';
import type { Log } from './log.ts';

/** S3 takes no larger object at once. */
export const MAX_UPLOAD_BYTES = 5 * 1024 ** 3;

export interface BucketUse {
  /** That names it. */
  readonly setting: string;
  readonly bucket: string;
  /** For the log: what lies in it. */
  readonly holds: string;
  readonly clock: Clock;
  readonly log: Log;
}

export async function openBucketOf(config: Config, use: BucketUse): Promise<Bucket> {
  const { awsRegion: region, awsSessionToken: sessionToken } = config;
  const { awsAccessKeyId: accessKey, awsSecretAccessKey: secretKey } = config;
  const { setting, bucket, holds, clock, log } = use;
  if (accessKey === null || secretKey === null)
    throw new ConfigError([`${setting} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`]);
  const endpoint = config.objectEndpoint ?? `https://s3.${region}.amazonaws.com`;
  const { openBucket } = await import('../objects/bucket.ts');
  return openBucket(
    { endpoint, region, bucket, accessKey, secretKey, sessionToken },
    {
      timeoutMs: config.objectTimeoutMs,
      after: (delayMs, task) => clock.after(delayMs, task),
      onProblem: (what, error) => log.warn(`The storage of ${holds} failed while ${what}`, { error }),
    },
  );
}
