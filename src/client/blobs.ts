/** Files: streamed up as multipart, streamed down as they come. */

import type { Caller, CallOptions } from './caller.ts';
import type { BlobInfo, Held } from './types.ts';

export type BlobContent = string | Uint8Array | Blob | AsyncIterable<Uint8Array>;

export interface UploadOptions extends CallOptions {
  /** What it is to be called. */
  readonly filename?: string;
  /** The media type. */
  readonly contentType?: string;
  /** Makes the file an artifact of this job. */
  readonly job?: Held;
}

export interface Download {
  /** Its media type. */
  readonly contentType: string;
  /** What it was called when it was uploaded. */
  readonly filename: string | null;
  /** How many bytes it has; null when the server did not say. */
  readonly size: number | null;
  /** Hexadecimal; what the bytes must add up to. */
  readonly sha256: string | null;
  /** The bytes as they come in. Read either this or bytes(), once. */
  readonly body: AsyncIterable<Uint8Array>;
  /** All of it, in memory. */
  bytes(): Promise<Uint8Array>;
}

export class Blobs {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** A file whose answer was lost may be stored already, so an upload is only repeated when it certainly is not. */
  upload(content: BlobContent, options: UploadOptions = {}): Promise<BlobInfo> {
    const { filename = 'file', contentType = typeOf(content), job, ...callOptions } = options;
    const boundary = `spine-${this.#caller.platform.randomId()}`;
    const head = partHead(boundary, filename, contentType);
    const isStream = isIterable(content);
    return this.#caller.json({
      method: 'POST',
      path: job === undefined ? '/blobs' : `/jobs/${encodeURIComponent(job.id)}/blobs`,
      body: () => multipart(head, content, boundary),
      headers: {
        'content-type': `multipart/form-data; boundary=${boundary}`,
        ...(job?.leaseToken !== undefined && { 'x-lease-token': job.leaseToken }),
      },
      repeatable: false,
      // A stream can be read once only.
      options: isStream ? { ...callOptions, retries: 0 } : callOptions,
    });
  }

  async download(id: string, options?: CallOptions): Promise<Download> {
    const path = `/blobs/${encodeURIComponent(id)}`;
    const answer = await this.#caller.stream({ method: 'GET', path, repeatable: true, options });
    const size = answer.header('content-length');
    const etag = /^"([0-9a-f]{64})"$/.exec(answer.header('etag') ?? '');
    return {
      contentType: answer.header('content-type') ?? 'application/octet-stream',
      filename: filenameIn(answer.header('content-disposition')),
      size: size === null ? null : Number(size),
      sha256: etag?.[1] ?? null,
      body: answer.body,
      bytes: () => collected(answer.body),
    };
  }
}

function isIterable(content: BlobContent): content is AsyncIterable<Uint8Array> {
  return typeof content === 'object' && Symbol.asyncIterator in content;
}

function typeOf(content: BlobContent): string {
  if (typeof content === 'string') return 'text/plain';
  return (content instanceof Blob && content.type) || 'application/octet-stream';
}

function partHead(boundary: string, filename: string, contentType: string): string {
  // As browsers do it: these three would end the quoted name.
  const quoted = filename.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const disposition = `content-disposition: form-data; name="file"; filename="${quoted}"`;
  return `--${boundary}\r\n${disposition}\r\ncontent-type: ${contentType.replaceAll(/[\r\n]/g, '')}\r\n\r\n`;
}

async function* multipart(head: string, content: BlobContent, boundary: string): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  yield encoder.encode(head);
  if (typeof content === 'string') yield encoder.encode(content);
  else if (content instanceof Uint8Array) yield content;
  else if (content instanceof Blob) yield new Uint8Array(await content.arrayBuffer());
  else yield* content;
  yield encoder.encode(`\r\n--${boundary}--\r\n`);
}

function filenameIn(disposition: string | null): string | null {
  if (disposition === null) return null;
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  if (encoded !== undefined) return decodeURIComponent(encoded);
  return /filename="((?:[^"\\]|\\.)*)"/.exec(disposition)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? null;
}

async function collected(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const all = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
