import { match, ok, strictEqual } from 'node:assert';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { expectRefusal, expectStatus, sharedServer, type Start } from './spine-cases.ts';

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
