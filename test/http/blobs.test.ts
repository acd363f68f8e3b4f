import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { link, mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDiskBlobs } from '../../src/blobs/disk.ts';
import { contentDisposition, displayName } from '../../src/blobs/filename.ts';
import { openServer } from './server.ts';

suite('uploads', () => {
  const part = (name: string, filename: string, content: string, type = 'text/plain'): string =>
    `--x\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: ${type}\r\n\r\n${content}\r\n`;
  const form = { 'content-type': 'multipart/form-data; boundary=x' };

  test('[SP-26] a file name is shown without its path, and never used as one', async (t) => {
    const spine = await openServer(t);
    for (const [given, shown] of [
      ['../../x', 'x'],
      ['..%2fx', '..%2fx'],
      ['/etc/passwd', 'passwd'],
      ['C:\\temp\\a.txt', 'a.txt'],
      ['CON', 'CON'],
      ['..', 'file'],
    ]) {
      const answer = await spine.head.request('POST', '/blobs', {
        raw: `${part('file', given ?? '', 'x')}--x--\r\n`,
        headers: form,
      });
      strictEqual(answer.status, 200, answer.text);
      strictEqual(answer.body['filename'], shown);
      strictEqual(answer.body['path'], join(spine.blobsFolder, String(answer.body['id'])));
    }
    strictEqual((await readdir(spine.blobsFolder)).length, 6);
  });

  test('a page is served as an attachment that cannot run', async (t) => {
    const spine = await openServer(t);
    const html = '<script>alert(1)</script>';
    const { body } = await spine.left.request('POST', '/blobs', {
      raw: `${part('file', 'a.html', html, 'text/html')}--x--\r\n`,
      headers: form,
    });
    const answer = await spine.right.get(`/blobs/${String(body['id'])}`);
    deepStrictEqual([answer.status, answer.text], [200, html]);
    match(answer.headers['content-disposition'] ?? '', /^attachment;/);
    match(String(answer.headers['content-security-policy']), /^sandbox/);
    strictEqual(answer.headers['x-content-type-options'], 'nosniff');
    const etag = answer.headers.etag ?? '';
    strictEqual(
      (await spine.right.get(`/blobs/${String(body['id'])}`, { headers: { 'if-none-match': etag } })).status,
      304,
    );
  });

  test('a file beyond the limit is refused and leaves nothing', async (t) => {
    const spine = await openServer(t, () => ({ blobLimitBytes: 1_000 }));
    const exact = await spine.head.request('POST', '/blobs', {
      raw: `${part('file', 'a', 'x'.repeat(1_000))}--x--\r\n`,
      headers: form,
    });
    deepStrictEqual([exact.status, exact.body['size']], [200, 1_000]);
    for (const size of [1_001, 1_002, 3_000_000]) {
      const answer = await spine.head.request('POST', '/blobs', {
        raw: `${part('file', 'a', 'x'.repeat(size))}--x--\r\n`,
        headers: form,
      });
      deepStrictEqual([answer.status, answer.body['error']], [413, 'too_large'], String(size));
    }
    strictEqual((await readdir(spine.blobsFolder)).length, 1);
    strictEqual((await spine.head.get('/health')).status, 200);
  });

  test('broken forms are refused and leave nothing', async (t) => {
    const spine = await openServer(t);
    const many = Array.from(
      { length: 10_000 },
      (_, i) => `--x\r\nContent-Disposition: form-data; name="f${i}"\r\n\r\nv\r\n`,
    ).join('');
    const cases: [string, Record<string, string>][] = [
      ['', form],
      ['--x--\r\n', form],
      [part('', 'a', 'x') + '--x--\r\n', form],
      [part('file', 'a', 'x'), form],
      ['--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nunterminated', form],
      [`${many}--x--\r\n`, form],
      ['--x--\r\n', { 'content-type': 'multipart/form-data' }],
      [part('__proto__', 'a', 'x') + '--x--\r\n', form],
      [
        part('file', 'a', 'x').replace('; filename="a"', '').replace('Content-Type: text/plain\r\n', '') +
          '--x--\r\n',
        form,
      ],
    ];
    for (const [raw, headers] of cases) {
      const answer = await spine.head.request('POST', '/blobs', { raw, headers });
      ok([400, 413, 415].includes(answer.status), `${answer.status} for ${raw.slice(0, 80)}`);
      ok(answer.body['error'], answer.text);
    }
    await untilEmpty(spine.blobsFolder);
  });

  test('an upload that breaks off half way leaves nothing', async (t) => {
    const spine = await openServer(t);
    const head = `POST /blobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${spine.tokens.head}\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 100000\r\n\r\n`;
    await Promise.all(
      Array.from({ length: 50 }, () => breakOff(spine.port, head + part('file', 'a', 'x'.repeat(20_000)))),
    );
    await untilEmpty(spine.blobsFolder);
    strictEqual((await spine.head.get('/health')).status, 200);
    deepStrictEqual(spine.logged, []);
  });

  test('bytes that lose their record are removed again', async (t) => {
    const spine = await openServer(t, ({ engine }) => ({
      engine: {
        ...engine,
        blobs: { ...engine.blobs, save: () => Promise.reject(new Error('no room for records')) },
      },
    }));
    const answer = await spine.head.request('POST', '/blobs', {
      raw: `${part('file', 'a', 'x')}--x--\r\n`,
      headers: form,
    });
    strictEqual(answer.status, 500);
    deepStrictEqual(await readdir(spine.blobsFolder), []);
  });
});

suite('damaged files', () => {
  const form = { 'content-type': 'multipart/form-data; boundary=x' };
  const raw =
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhello there\r\n--x--\r\n';

  test('whose length changed or whose bytes are gone are refused before the first byte goes out', async (t) => {
    const spine = await openServer(t);
    const { body } = await spine.head.request('POST', '/blobs', { raw, headers: form });
    const id = String(body['id']);
    const file = join(spine.blobsFolder, id);
    for (const content of ['', 'hello', 'hello there and more']) {
      await writeFile(file, content);
      const answer = await spine.head.get(`/blobs/${id}`);
      deepStrictEqual([answer.status, answer.body['error']], [500, 'artifact_damaged'], content);
    }
    await rm(file);
    strictEqual((await spine.head.get(`/blobs/${id}`)).body['error'], 'artifact_damaged');
  });

  test('whose bytes changed are refused when the caller has them verified', async (t) => {
    const spine = await openServer(t);
    const { body } = await spine.head.request('POST', '/blobs', { raw, headers: form });
    const id = String(body['id']);
    strictEqual((await spine.head.get(`/blobs/${id}?verify=true`)).text, 'hello there');
    await writeFile(join(spine.blobsFolder, id), 'hellO there');
    const answer = await spine.head.get(`/blobs/${id}?verify=true`);
    deepStrictEqual([answer.status, answer.body['error']], [500, 'artifact_damaged']);
    const etag = `"${String(body['sha256'])}"`;
    const again = await spine.head.get(`/blobs/${id}?verify=true`, { headers: { 'if-none-match': etag } });
    strictEqual(again.status, 500, 'also when the caller has the right ones');
  });

  test('a folder that is gone takes no upload and says so', async (t) => {
    const spine = await openServer(t);
    await rm(spine.blobsFolder, { recursive: true });
    const answer = await spine.head.request('POST', '/blobs', { raw, headers: form });
    deepStrictEqual([answer.status, answer.body['error']], [503, 'store_unavailable']);
    match(answer.text, /is gone, so no file can be stored/);
  });
});

suite('blobs on disk', () => {
  const folderOf = async (): Promise<string> => join(await mkdtemp(join(tmpdir(), 'spine-blobs-')), 'blobs');
  const now = (): number => Date.now();

  test('are private files, and only plain files are read', async () => {
    const folder = await folderOf();
    const blobs = await openDiskBlobs({ folder, newId: () => 'one', now });
    const { path } = await blobs.put(Readable.from([Buffer.from('hello')]), 100);
    strictEqual((await stat(folder)).mode & 0o777, 0o700);
    strictEqual((await stat(path)).mode & 0o777, 0o600);
    const opened = await blobs.open('one');
    strictEqual(opened?.size, 5);
    opened.content.destroy();
    await symlink('/etc/passwd', join(folder, 'link'));
    await mkdir(join(folder, 'folder'));
    for (const id of ['link', 'folder', 'none', '../blobs/one', '', 'x'.repeat(65)])
      strictEqual(await blobs.open(id), null, id);
    await rm(folder, { recursive: true });
  });

  test('never replace a file that is there while it is written', async () => {
    const folder = await folderOf();
    const blobs = await openDiskBlobs({ folder, newId: () => 'one', now });
    await writeFile(join(folder, 'target'), 'keep');
    await link(join(folder, 'target'), join(folder, 'one.part'));
    await blobs.put(Readable.from([Buffer.from('new')]), 100).catch(() => undefined);
    strictEqual((await stat(join(folder, 'target'))).size, 4);
    await rm(folder, { recursive: true });
  });

  test('half uploads of a server that died are swept out after an hour', async () => {
    const folder = await folderOf();
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'old.part'), 'x');
    await writeFile(join(folder, 'young.part'), 'x');
    await writeFile(join(folder, 'whole'), 'x');
    const longAgo = new Date(Date.now() - 2 * 3_600_000);
    await utimes(join(folder, 'old.part'), longAgo, longAgo);
    await utimes(join(folder, 'whole'), longAgo, longAgo);
    await openDiskBlobs({ folder, newId: () => 'one', now });
    deepStrictEqual((await readdir(folder)).toSorted(), ['whole', 'young.part']);
    await rm(folder, { recursive: true });
  });

  test('a stream that fails leaves nothing', async () => {
    const folder = await folderOf();
    const blobs = await openDiskBlobs({ folder, newId: () => 'one', now });
    const failing = Readable.from(
      (function* () {
        yield Buffer.from('some');
        throw new Error('cut');
      })(),
    );
    await blobs.put(failing, 100).then(
      () => ok(false),
      (error: Error) => strictEqual(error.message, 'cut'),
    );
    deepStrictEqual(await readdir(folder), []);
    await rm(folder, { recursive: true });
  });
});

suite('file names', () => {
  test('lose paths, control and direction marks, and length', () => {
    strictEqual(displayName(undefined), 'file');
    strictEqual(displayName('a\u0000b\r\n.txt'), 'ab.txt');
    strictEqual(displayName('gpj.\u202Eexe'), 'gpj.exe');
    strictEqual(displayName('x'.repeat(4_096)).length, 255);
    strictEqual(displayName(`${'x'.repeat(254)}🦀`), 'x'.repeat(254));
    strictEqual(displayName('dir/'), 'file');
  });

  test('are quoted so that no header can be split', () => {
    strictEqual(
      contentDisposition('a"b\\c.txt'),
      `attachment; filename="a_b_c.txt"; filename*=UTF-8''a%22b%5Cc.txt`,
    );
    strictEqual(
      contentDisposition('zwölf.md'),
      `attachment; filename="zw_lf.md"; filename*=UTF-8''zw%C3%B6lf.md`,
    );
  });
});

function breakOff(port: number, text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(text, () => setImmediate(() => socket.destroy())),
    );
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });
}

/** The server may still be starting on what was sent, so empty means: empty for a while. */
async function untilEmpty(folder: string): Promise<void> {
  let emptyLooks = 0;
  for (let left = 500; left > 0 && emptyLooks < 30; left--) {
    emptyLooks = (await readdir(folder)).length === 0 ? emptyLooks + 1 : 0;
    await sleep(10);
  }
  deepStrictEqual(await readdir(folder), []);
}
