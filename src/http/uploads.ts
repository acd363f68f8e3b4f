/** Routes that take a file. */

import multipart from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';

/** A plugin of their own, so that no other route takes multipart bodies. */
export function takingFiles(
  maxBytes: number,
  mount: (app: FastifyInstance) => void,
): (app: FastifyInstance) => Promise<void> {
  return async (app) => {
    // The store counts the bytes itself; one byte more than allowed must reach it to be noticed.
    const limits = {
      fileSize: maxBytes + 1,
      files: 1,
      parts: 8,
      fieldNameSize: 100,
      headerPairs: 32,
      headerSize: 16_384,
    };
    await app.register(multipart, { limits, throwFileSizeLimit: false });
    mount(app);
  };
}
