/** Where backups are kept: a folder or a bucket. Keys have slashes between their parts. */

export interface Place {
  /** As people write it: a path, or s3://bucket/prefix. */
  readonly name: string;
  /** Durable when it resolves; until then nothing can be read under that key, or what was there before. */
  put(key: string, source: Source): Promise<void>;
  /** Throws `not_found` when there is no such key. */
  read(key: string): AsyncIterable<Uint8Array>;
  /** In no particular order. */
  list(prefix: string): AsyncIterable<Listed>;
  /** No matter whether it is there. */
  remove(key: string): Promise<void>;
}

export interface Source {
  readonly size: number;
  /** The bytes from the beginning; a place may ask for them once. */
  open(): AsyncIterable<Uint8Array>;
}

export interface Listed {
  readonly key: string;
  readonly size: number;
}

export function sourceOf(text: string): Source {
  const bytes = Buffer.from(text);
  return {
    size: bytes.length,
    async *open() {
      yield bytes;
    },
  };
}

/** For small texts only: what is longer than the limit is not read to its end. */
export async function readText(place: Place, key: string, limitBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of place.read(key)) {
    size += chunk.length;
    if (size > limitBytes) throw new RangeError(`${key} is longer than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
