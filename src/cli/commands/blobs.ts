import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { BlobInfo, Download } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { CliError, EXIT, usage } from '../failure.ts';
import { progressBar } from '../progress.ts';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { jobRef } from './job-ref.ts';
import { given } from './values.ts';

interface PutOptions {
  readonly name?: string;
  readonly contentType?: string;
  readonly job?: string;
  readonly leaseToken?: string;
}

export const putBlob: Handler<PutOptions> = async (session, { args: [file = ''], options }) => {
  const client = await session.client();
  const { job: name, leaseToken, contentType } = options;
  const job = name === undefined ? undefined : { id: await jobRef(client, name), ...given({ leaseToken }) };
  const filename = options.name ?? (file === '-' ? 'stdin' : basename(file));
  const size = file === '-' ? null : sizeOf(file);
  const bar = progressBar(session, 'Uploading', size);
  const content = bytesOf(session, file, (bytes) => bar.add(bytes));
  const blob = await client.blobs
    .upload(content, {
      filename,
      signal: session.signal,
      timeoutMs: UPLOAD_LIMIT_MS,
      ...given({ contentType, job }),
    })
    .finally(() => bar.end());
  session.out.result({
    value: blob,
    lines: () => [`${blob.filename} (${sizeText(blob.size)}) is stored as ${blob.id}`],
    ids: () => [blob.id],
  });
};

const UPLOAD_LIMIT_MS = 24 * 3_600_000;

function sizeOf(file: string): number {
  try {
    const status = statSync(file);
    if (status.isDirectory()) throw usage(`${file} is a folder.`);
    return status.size;
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw usage(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`);
  }
}

async function* bytesOf(
  session: Session,
  file: string,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const source = file === '-' ? session.host.stdin : createReadStream(file);
  for await (const chunk of source as AsyncIterable<Uint8Array | string>) {
    const bytes = Buffer.from(chunk);
    count(bytes.length);
    yield bytes;
  }
}

interface GetOptions {
  readonly output?: string;
  readonly force?: boolean;
}

export const getBlob: Handler<GetOptions> = async (session, { args: [id = ''], options }) => {
  const { output } = options;
  if (output !== undefined && output !== '-' && !options.force && existsSync(output))
    throw usage(`${output} exists already.`, 'Name another file, or add --force.');
  const client = await session.client();
  const blob = await client.blobs.download(id, { signal: session.signal });
  if (output === undefined || output === '-') return await toStdout(session, blob);
  await toFile(session, blob, output);
  const { filename, size, sha256 } = blob;
  session.out.result({
    value: { id, file: output, filename, size, sha256 },
    lines: () => [`${filename ?? id} (${sizeText(size ?? 0)}) is written to ${output}`],
    ids: () => [output],
  });
};

async function toStdout({ host: { stdout }, signal }: Session, blob: Download): Promise<void> {
  for await (const chunk of blob.body) {
    if (!stdout.write(chunk)) await new Promise<void>((resolve) => stdout.once('drain', resolve));
    if (signal.aborted) return;
  }
}

/** Written beside the place and moved there when its sum is right, so that half a file is never taken for one. */
async function toFile(session: Session, blob: Download, file: string): Promise<void> {
  const part = `${file}.part`;
  const bar = progressBar(session, 'Downloading', blob.size);
  const hash = createHash('sha256');
  mkdirSync(dirname(file), { recursive: true });
  const handle = await open(part, 'w', 0o600);
  try {
    for await (const chunk of blob.body) {
      hash.update(chunk);
      await handle.write(chunk);
      bar.add(chunk.length);
    }
    if (blob.sha256 !== null && hash.digest('hex') !== blob.sha256)
      throw new CliError(
        EXIT.failure,
        'damaged',
        'The file arrived damaged: its SHA-256 is wrong.',
        'Try again.',
      );
    renameSync(part, file);
  } finally {
    bar.end();
    await handle.close();
    rmSync(part, { force: true });
  }
}

export const listBlobs: Handler = async (session, { args: [name = ''] }) => {
  const client = await session.client();
  const blobs: readonly BlobInfo[] = await client.jobs.blobs(await jobRef(client, name));
  session.out.result({
    value: { blobs },
    lines: () => {
      if (blobs.length === 0) session.out.info('This job has no files.');
      const columns = [{ head: 'file', gives: true }, { head: 'size', right: true }, { head: 'id' }];
      const rows = blobs.map(({ filename, size, id }) => [filename, sizeText(size), id]);
      return blobs.length === 0 ? [] : table(columns, rows, session.out.columns);
    },
    ids: () => blobs.map(({ id }) => id),
  });
};

export function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes;
  let unit = 0;
  for (; size >= 1024 && unit < units.length - 1; unit++) size /= 1024;
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}
