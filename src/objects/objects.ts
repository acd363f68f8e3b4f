/** Where large data of tasks lies, under names with slashes: a bucket, or a folder of this server. */

export interface ObjectStore {
  /** What the names of data batches begin with. */
  readonly dataPrefix: string;
  /** Durable when it resolves. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Null when there is no such object. */
  open(key: string): Promise<AsyncIterable<Uint8Array> | null>;
  remove(key: string): Promise<void>;
}
