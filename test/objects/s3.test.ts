import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { openBucket } from '../../src/objects/bucket.ts';
import { s3Objects } from '../../src/objects/s3.ts';
import { systemClock } from '../../src/runtime/clock.ts';

const LIMIT_MS = 200;
const AWAY = { code: 'storage_unavailable', message: 'Storage not available' };

/** A storage that answers every call as a test says. No real one can be made to be so slow. */
async function storage(t: TestContext, answer: (response: ServerResponse) => void) {
  let open = 0;
  const server = createServer((request, response) => {
    request.resume();
    open++;
    response.on('close', () => open--);
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const told: string[] = [];
  const bucket = openBucket(
    {
      endpoint: `http://127.0.0.1:${port}`,
      region: 'here',
      bucket: 'treasure',
      accessKey: 'a',
      secretKey: 's',
      sessionToken: null,
    },
    {
      timeoutMs: LIMIT_MS,
      after: (delayMs, task) => systemClock().after(delayMs, task),
      onProblem: (what, error) => told.push(`${what}: ${(error as Error).message}`),
    },
  );
  return { bucket, objects: s3Objects(bucket, 'worker-data'), told, open: () => open };
}

const read = async (chunks: AsyncIterable<Uint8Array> | null): Promise<string> => {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks ?? []) all.push(chunk);
  return Buffer.concat(all).toString();
};

test('a body that stops in the middle is waited for as long as one answer may take [TQ-11]', async (t) => {
  const { objects, told, open } = await storage(t, (response) => response.writeHead(200).write('half'));
  await rejects(async () => read(await objects.open('k')), AWAY);
  deepStrictEqual(told, [`reading from s3://treasure: no answer within ${LIMIT_MS} ms`]);
  while (open() > 0) await sleep(5);
});

test('a body that breaks off is a storage that is away, and never half an object [TQ-11]', async (t) => {
  const { objects } = await storage(t, (response) => {
    response.writeHead(200, { 'content-length': 100 }).write('half');
    setTimeout(() => response.destroy(), 20);
  });
  await rejects(async () => read(await objects.open('k')), AWAY);
});

test('whoever wants no more of an endless body lets its connection go [TQ-11]', async (t) => {
  const { objects, open } = await storage(t, (response) => {
    response.writeHead(200);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more);
    more();
  });
  let bytes = 0;
  for await (const chunk of (await objects.open('k')) ?? []) {
    bytes += chunk.length;
    if (bytes > 1_000_000) break;
  }
  ok(bytes > 1_000_000);
  while (open() > 0) await sleep(5);
});

test('a storage that says nothing, or says no, is told of in the log and called away [TQ-11]', async (t) => {
  const silent = await storage(t, () => undefined);
  for (const call of [
    () => silent.objects.put('k', Buffer.from('x')),
    () => silent.objects.open('k'),
    () => silent.objects.remove('k'),
  ])
    await rejects(call, AWAY);
  strictEqual(silent.told.length, 3);
  const refusing = await storage(t, (response) =>
    response
      .writeHead(403, { 'content-type': 'application/xml' })
      .end('<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>'),
  );
  await rejects(refusing.objects.put('k', Buffer.from('x')), AWAY);
  match(refusing.told[0] ?? '', /^writing to s3:\/\/treasure: /);
});

test('an upload that stands still is given up, and its connection goes [SP-26]', async (t) => {
  const silent = await storage(t, () => undefined);
  await rejects(silent.bucket.upload('k', 3, Readable.from([Buffer.from('abc')])), AWAY);
  deepStrictEqual(silent.told, [`writing to s3://treasure: no answer within ${LIMIT_MS} ms`]);
  while (silent.open() > 0) await sleep(5);
  const stuck = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a');
    await new Promise(() => undefined);
  };
  await rejects(silent.bucket.upload('k', 3, stuck()), AWAY);
  while (silent.open() > 0) await sleep(5);
});

test('an upload may take as long as it goes on, and sends what was said [SP-26]', async (t) => {
  const { bucket, told } = await storage(t, (response) => {
    response.req.on('end', () => response.end());
  });
  const slow = async function* (): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < 5; i++) {
      await sleep(LIMIT_MS / 2);
      yield Buffer.from('a');
    }
  };
  await bucket.upload('k', 5, slow());
  await rejects(bucket.upload('k', 6, slow()), AWAY);
  strictEqual(told.length, 1);
});
