/** Where backups go: what the settings or `--to` name, with the address and the keys that belong to it. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderPlace } from './folder.ts';
import type { Place } from './place.ts';
import { BackupProblem } from './problem.ts';
import type { Bucket } from './s3.ts';

export type Destination =
  | { readonly folder: string; readonly prefix: string }
  | { readonly bucket: Bucket; readonly timeoutMs: number };

export interface StorageSettings {
  readonly backupDir: string | null;
  readonly backupBucket: string | null;
  readonly backupPrefix: string;
  readonly backupMcAlias: string | null;
  readonly backupEndpoint: string | null;
  readonly backupTimeoutMs: number;
  readonly mcConfigDir: string | null;
  readonly awsRegion: string;
  readonly awsAccessKeyId: string | null;
  readonly awsSecretAccessKey: string | null;
  readonly awsSessionToken: string | null;
}

/** `to` is a folder or s3://bucket/prefix, and stands in for both settings. */
export function destinationsOf(settings: StorageSettings, to: string | null, home: string): Destination[] {
  const { backupPrefix: prefix, backupDir, backupBucket } = settings;
  if (to !== null) return [named(to, settings, home)];
  const found: Destination[] = [];
  if (backupDir !== null) found.push({ folder: backupDir, prefix });
  if (backupBucket !== null) found.push(inBucket(settings, backupBucket, prefix, home));
  if (found.length > 0) return found;
  throw new BackupProblem(
    'settings',
    'Nothing says where backups are: set SCHEDULER_BACKUP_DIR or SCHEDULER_BACKUP_BUCKET, or add --to.',
  );
}

function named(to: string, settings: StorageSettings, home: string): Destination {
  const [, bucket = '', rest = ''] =
    /^s3:\/\/([A-Za-z\d][A-Za-z\d.-]{1,61}[A-Za-z\d])(?:\/([\w./-]*))?$/.exec(to) ?? [];
  if (bucket !== '') {
    const prefix = rest.replace(/^\/+|\/+$/g, '') || settings.backupPrefix;
    if (!prefix.split('/').some((part) => /^\.*$/.test(part)))
      return inBucket(settings, bucket, prefix, home);
  }
  if (/^[a-z][a-z\d+.-]+:\/\//i.test(to) || to === '')
    throw new BackupProblem('usage', `--to is not a folder or s3://bucket/prefix: ${JSON.stringify(to)}.`);
  return { folder: to, prefix: settings.backupPrefix };
}

function inBucket(settings: StorageSettings, bucket: string, prefix: string, home: string): Destination {
  const { backupMcAlias: alias, backupTimeoutMs: timeoutMs, awsRegion: region } = settings;
  const at = { bucket, prefix, region };
  if (alias !== null) {
    const file = join(settings.mcConfigDir ?? join(home, '.mc'), 'config.json');
    return { bucket: { ...at, ...readAlias(file, alias), sessionToken: null }, timeoutMs };
  }
  const {
    awsAccessKeyId: accessKey,
    awsSecretAccessKey: secretKey,
    awsSessionToken: sessionToken,
  } = settings;
  if (accessKey === null || secretKey === null)
    throw new BackupProblem(
      'settings',
      'No keys for the bucket: set SCHEDULER_BACKUP_MC_ALIAS, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    );
  const endpoint = settings.backupEndpoint ?? `https://s3.${region}.amazonaws.com`;
  return { bucket: { ...at, endpoint, accessKey, secretKey, sessionToken }, timeoutMs };
}

/** The file of MinIO's client: `{"aliases": {"name": {"url", "accessKey", "secretKey"}}}`. */
function readAlias(file: string, alias: string): Pick<Bucket, 'endpoint' | 'accessKey' | 'secretKey'> {
  const refuse = (what: string, cause?: unknown): never => {
    throw new BackupProblem('settings', `SCHEDULER_BACKUP_MC_ALIAS=${alias}: ${file} ${what}.`, cause);
  };
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return refuse(`cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, error);
  }
  const { url, accessKey, secretKey } = entryOf(text, alias) ?? refuse(`has no such alias`);
  if (typeof url !== 'string' || !/^https?:\/\//.test(url) || !URL.canParse(url))
    return refuse('has no http:// or https:// url for it');
  if (typeof accessKey !== 'string' || typeof secretKey !== 'string') return refuse('has no keys for it');
  return { endpoint: url, accessKey, secretKey };
}

function entryOf(text: string, alias: string): Record<string, unknown> | null {
  try {
    const { aliases } = JSON.parse(text) as { aliases?: Record<string, Record<string, unknown>> };
    return (aliases && Object.hasOwn(aliases, alias) && aliases[alias]) || null;
  } catch {
    return null;
  }
}

/** The client of S3 is loaded only where a bucket is used. */
export async function openPlace(
  destination: Destination,
  after: (delayMs: number, task: () => void) => () => void,
): Promise<Place> {
  if ('folder' in destination) return folderPlace(destination.folder, destination.prefix);
  const { s3Place } = await import('./s3.ts');
  return s3Place(destination.bucket, { timeoutMs: destination.timeoutMs, after });
}
