/** Where the bytes of uploaded files live. What is known about them is the engine's to keep. */

import type { Readable } from 'node:stream';

export interface StoredBytes {
  /** Made by the server; a caller's file name never becomes a path. */
  readonly id: string;
  readonly size: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
  /** Where they are, for people on the same machine. */
  readonly path: string;
}

export interface BlobStore {
  /** Durable when it resolves. Throws `too_large` beyond the limit; after any error nothing is left behind. */
  put(content: AsyncIterable<Uint8Array>, limitBytes: number): Promise<StoredBytes>;
  /** Null when there are no such bytes. */
  open(id: string): Promise<{ readonly content: Readable; readonly size: number } | null>;
  /** What the bytes add up to, read from end to end; null when there are none. */
  sha256(id: string): Promise<string | null>;
  remove(id: string): Promise<void>;
  /** Everything that this server, or one before it, may have put there. */
  files(): AsyncIterable<StoredFile>;
  /** Removes a file that was last written to before `before`; answers whether it did. */
  drop(name: string, before: number): Promise<boolean>;
}

export interface StoredFile {
  readonly id: string;
  readonly name: string;
  /** An upload that has not ended. */
  readonly isPart: boolean;
}
