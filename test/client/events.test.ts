import { deepStrictEqual, rejects, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { SpineClient } from '../../src/client/index.ts';
import { serverSentEvents } from '../../src/client/sse.ts';
import { type Act, FakePlatform, hangsUp, hastyPlatform, loopback, says } from './support.ts';

async function* bytes(...chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield new TextEncoder().encode(chunk);
}

async function eventsIn(...chunks: readonly string[]): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const event of serverSentEvents(bytes(...chunks))) events.push(event);
  return events;
}

/** Sends the text and cuts the connection. */
function streams(text: string): Act {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(text, () => response.socket?.end());
  };
}

test('server-sent events are read however their lines end and wherever they are cut', async () => {
  const expected = [
    { id: '1', type: 'job.created', data: '{"a":"ä"}' },
    { id: '1', type: 'message', data: 'two\nlines' },
  ];
  const text =
    ': hello\n\nid: 1\nevent: job.created\ndata: {"a":"ä"}\n\ndata:two\ndata: lines\nretry: 5\n\ndata: cut off';
  for (const end of ['\n', '\r\n', '\r']) {
    const whole = text.replaceAll('\n', end);
    deepStrictEqual(await eventsIn(whole), expected);
    deepStrictEqual(await eventsIn(...whole.split('')), expected);
  }
});

test('the feed goes on after the last event when the connection breaks', async () => {
  await using server = await loopback(
    streams('id: 7\nevent: job.created\ndata: {"n":1}\n\nid: 8\ndata: {"half'),
    hangsUp,
    says(503, { error: 'shutting_down' }),
    streams('id: 8\nevent: job.claimed\ndata: {"n":2}\n\n'),
    says(401, { error: 'unauthorized' }),
  );
  const client = new SpineClient({ baseUrl: server.url, platform: hastyPlatform() });
  const seen: unknown[] = [];
  const reading = async (): Promise<void> => {
    for await (const event of client.events({ filter: { target: 'any' } })) seen.push(event);
  };
  await rejects(reading(), { code: 'unauthorized' });
  deepStrictEqual(seen, [
    { id: '7', type: 'job.created', data: { n: 1 } },
    { id: '8', type: 'job.claimed', data: { n: 2 } },
  ]);
  deepStrictEqual(
    server.seen.map(({ headers }) => headers['last-event-id']),
    [undefined, '7', '7', '7', '8'],
  );
  strictEqual(server.seen[0]?.url, '/events?target=any');
});

test('leaving the loop ends the connection of the feed', async () => {
  let closed: () => void = () => {};
  const gone = new Promise<void>((resolve) => (closed = resolve));
  const endless: Act = (response) => {
    response.once('close', closed);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('id: 1\ndata: {}\n\n');
  };
  await using server = await loopback(endless);
  const client = new SpineClient({ baseUrl: server.url });
  for await (const { id } of client.events()) {
    strictEqual(id, '1');
    break;
  }
  await gone;
});

test('a signal ends the feed', async () => {
  const endless: Act = (response) => void response.writeHead(200).write('id: 1\ndata: {}\n\n');
  await using server = await loopback(endless);
  const ending = new AbortController();
  const reading = async (): Promise<void> => {
    const client = new SpineClient({ baseUrl: server.url });
    for await (const _ of client.events({ signal: ending.signal })) ending.abort(new Error('enough'));
  };
  await rejects(reading(), { message: 'enough' });
});

test('a feed that went quiet is opened again', async () => {
  const quiet: Act = (response) => void response.writeHead(200).write('id: 1\ndata: {}\n\n');
  await using server = await loopback(quiet, says(401, { error: 'unauthorized' }));
  const platform = new FakePlatform();
  const feed = new SpineClient({ baseUrl: server.url, platform }).events();
  strictEqual((await feed.next()).done, false);
  const next = feed.next().then(String, (error: Error) => error.name);
  await platform.advance(45_000);
  while (server.seen.length < 2) await platform.advance(1_000);
  strictEqual(await next, 'SpineApiError');
  strictEqual(server.seen[1]?.headers['last-event-id'], '1');
});
