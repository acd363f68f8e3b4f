/** The S3 server that `npm test` starts while the first tests run already. */

import { readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { S3ForTests } from './swift.ts';

export type GivenS3 = S3ForTests | { readonly missing: string };

const WAIT_LIMIT_MS = 6 * 60_000;

/** Tells the tests that wait for it. */
export async function giveS3(file: string, given: GivenS3): Promise<void> {
  await writeFile(`${file}.part`, JSON.stringify(given));
  await rename(`${file}.part`, file);
}

/** Resolves when the server is up, or when it is known why there is none. */
export async function givenS3(): Promise<GivenS3> {
  const file = process.env['TEST_S3_FILE'];
  if (file === undefined) return { missing: 'no TEST_S3_FILE: use npm test' };
  for (let waitedMs = 0; waitedMs < WAIT_LIMIT_MS; waitedMs += 100) {
    const text = await readFile(file, 'utf8').catch(() => null);
    if (text !== null) return JSON.parse(text) as GivenS3;
    await sleep(100);
  }
  return { missing: 'no S3 server came up in time' };
}
