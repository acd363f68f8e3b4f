import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { checkAnswer } from '../http/description.ts';
import { expectRefusal, expectStatus, runningJob, sharedServer, type Start } from './spine-cases.ts';

interface Uploaded {
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly path: string;
  readonly sha256: string;
}

export function blobCases(start: Start): void {
  suite('blobs', () => {
    const server = sharedServer(start);
    const upload = (token: string, form: FormData): Promise<Response> =>
      fetch(`${server().url}/blobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: form,
      });

    test('[SP-26] head and claws upload a file in the field "file", and get it back unchanged', async () => {
      const bytes = Buffer.alloc(3_000_000, 'spine ');
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const { head, left, right } = server().tokens;
      for (const token of [head, left, right]) {
        const form = new FormData();
        form.append('file', new Blob([bytes], { type: 'text/plain' }), 'notes.txt');
        const answer = await upload(token, form);
        strictEqual(answer.status, 200);
        const blob = (await answer.json()) as Uploaded;
        strictEqual(blob.filename, 'notes.txt');
        strictEqual(blob.size, bytes.length);
        strictEqual(blob.sha256, sha256);
        ok((await readFile(blob.path)).equals(bytes));
        const back = await fetch(`${server().url}/blobs/${blob.id}`, {
          headers: { authorization: `Bearer ${token}` },
        });
        strictEqual(back.status, 200);
        match(back.headers.get('content-disposition') ?? '', /^attachment; filename="notes\.txt"/);
        strictEqual(back.headers.get('x-content-type-options'), 'nosniff');
        strictEqual(back.headers.get('etag'), `"${sha256}"`);
        ok(Buffer.from(await back.arrayBuffer()).equals(bytes));
      }
    });

    test('[SP-26] a form without the field "file" is refused', async () => {
      const { head } = server().tokens;
      const text = new FormData();
      text.append('note', 'no file here');
      const wrong = new FormData();
      wrong.append('picture', new Blob(['x']), 'x.png');
      for (const form of [new FormData(), text, wrong]) {
        const answer = await upload(head, form);
        strictEqual(answer.status, 400);
        strictEqual(((await answer.json()) as { error: string }).error, 'missing_file');
      }
    });

    test('a holder adds files to its job, which others who may see the job get back', async () => {
      const held = await runningJob(server(), server().left);
      const attach = (token: string, leaseToken?: string): Promise<Response> => {
        const form = new FormData();
        form.append('file', new Blob(['made by the job']), 'made.txt');
        const lease = leaseToken === undefined ? {} : { 'x-lease-token': leaseToken };
        return fetch(`${server().url}/jobs/${held.id}/blobs`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, ...lease },
          body: form,
        });
      };
      const { head, left, right } = server().tokens;
      const answer = await attach(left, held.leaseToken);
      strictEqual(answer.status, 200);
      const blob = (await answer.json()) as Uploaded;
      checkAnswer('POST', `/jobs/${held.id}/blobs`, {
        status: 200,
        contentType: 'application/json',
        body: blob,
      });
      strictEqual((await attach(`run.${held.id}.${held.leaseToken}`)).status, 200);

      const before = await readdir(join(server().dataDir, 'blobs'));
      const refused = [
        [left, 'z'.repeat(22), 409],
        [right, held.leaseToken, 403],
        ['wrong', held.leaseToken, 401],
      ] as const;
      for (const [token, lease, status] of refused) strictEqual((await attach(token, lease)).status, status);
      strictEqual((await attach(head)).status, 200);
      expectStatus(
        await server().left.post(`/jobs/${held.id}/complete`, { leaseToken: held.leaseToken }),
        200,
      );
      strictEqual((await attach(left, held.leaseToken)).status, 409);
      strictEqual((await readdir(join(server().dataDir, 'blobs'))).length, before.length + 1);

      const list = await server().left.get<{ blobs: Uploaded[] }>(`/jobs/${held.id}/blobs`);
      const { blobs } = expectStatus(list, 200);
      deepStrictEqual([blobs.length, blobs[0]?.id, blobs[0]?.sha256], [3, blob.id, blob.sha256]);
      const back = await server().left.get(`/blobs/${blob.id}`);
      deepStrictEqual([back.status, back.text], [200, 'made by the job']);
      expectRefusal(await server().right.get(`/blobs/${blob.id}`), 403, 'forbidden');
      expectRefusal(await server().right.get(`/jobs/${held.id}/blobs`), 403, 'forbidden');
    });

    test('[SP-26] uploads and downloads need a token, and unknown ids are not there', async () => {
      const form = new FormData();
      form.append('file', new Blob(['x']), 'x');
      strictEqual((await upload('wrong', form)).status, 401);
      expectRefusal(await server().anyone.get('/blobs/anything'), 401, 'unauthorized');
      expectRefusal(await server().head.get('/blobs/anything'), 404, 'not_found');
      expectStatus(await server().head.get('/blobs/..%2fspine.db'), 404);
    });
  });
}
