/** Artifacts as their senders and readers see them. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { TestServer } from '../support/server.ts';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export async function upload(server: TestServer, token: string, bytes: Buffer<ArrayBuffer>): Promise<string> {
  const body = new FormData();
  body.append('file', new Blob([bytes]), 'made.bin');
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${server.url}/blobs`, { method: 'POST', headers, body });
  const { id = '', sha256: sum } = (await answer.json()) as { id?: string; sha256?: string };
  assert.deepEqual([answer.status, sum], [200, sha256(bytes)]);
  return id;
}

export async function download(server: TestServer, token: string, id: string): Promise<Buffer> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${server.url}/blobs/${id}?verify=true`, { headers });
  assert.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}
