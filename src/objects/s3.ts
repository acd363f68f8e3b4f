/** Objects in a bucket of S3-compatible storage. */

import type { Bucket } from './bucket.ts';
import type { ObjectStore } from './objects.ts';

export function s3Objects(bucket: Bucket, dataPrefix: string): ObjectStore {
  return {
    dataPrefix,
    put: (key, bytes) => bucket.put(key, bytes),
    open: async (key) => (await bucket.open(key))?.content ?? null,
    remove: (key) => bucket.remove(key),
  };
}
