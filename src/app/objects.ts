/** Where large data of tasks lies: in the bucket that the settings name, else in the data dir. */

import { join } from 'node:path';
import { type Config, ConfigError } from '../config.ts';
import type { Clock } from '../domain/ports.ts';
import { diskObjects } from '../objects/disk.ts';
import type { ObjectStore } from '../objects/objects.ts';
import type { Log } from './log.ts';

const folderIn = (dataDir: string): string => join(dataDir, 'objects');

/** Null when a bucket keeps them. */
export function objectFolderOf({ objectBucket, dataDir }: Config): string | null {
  return objectBucket === null ? folderIn(dataDir) : null;
}

export async function openObjects(config: Config, clock: Clock, log: Log): Promise<ObjectStore> {
  const { objectBucket: bucket, objectPrefix: dataPrefix, awsRegion: region } = config;
  if (bucket === null) return diskObjects(folderIn(config.dataDir), dataPrefix);
  const { awsAccessKeyId: accessKey, awsSecretAccessKey: secretKey, awsSessionToken: sessionToken } = config;
  if (accessKey === null || secretKey === null)
    throw new ConfigError(['S3_BUCKET needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.']);
  const endpoint = config.objectEndpoint ?? `https://s3.${region}.amazonaws.com`;
  const { s3Objects } = await import('../objects/s3.ts');
  return s3Objects(
    { endpoint, region, bucket, accessKey, secretKey, sessionToken },
    {
      dataPrefix,
      timeoutMs: config.objectTimeoutMs,
      after: (delayMs, task) => clock.after(delayMs, task),
      onProblem: (what, error) => log.warn(`The storage of task data failed while ${what}`, { error }),
    },
  );
}
