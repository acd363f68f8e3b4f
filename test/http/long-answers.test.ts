import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { suite, test } from 'node:test';
import { FakeClock, until } from '../support/clock.ts';
import { openServer } from './server.ts';

suite('a long answer', () => {
  test('arrives whole, with its length in bytes, whatever letters it holds', async (t) => {
    const spine = await openServer(t);
    for (const letters of ['plain ', 'größer ', '仕事 ', '🦞 ']) {
      const params = { text: letters.repeat(20_000) };
      const { status, body } = await spine.head.post<{ id: string }>('/jobs', { params });
      const { headers, text, body: shown } = await spine.head.get<{ params: unknown }>(`/jobs/${body.id}`);
      ok(status === 201 && text.length > params.text.length);
      deepStrictEqual(shown.params, params);
      strictEqual(headers['content-length'], String(Buffer.byteLength(text)));
      strictEqual(headers['content-type'], 'application/json; charset=utf-8');
    }
  });

  test('is not kept for whoever does not read it: he is cut off, though he needed no token', async (t) => {
    const clock = new FakeClock();
    const spine = await openServer(t, () => ({ clock }));
    const arrives = once(spine.server, 'connection');
    const reader = connect(spine.port, '127.0.0.1').pause();
    const [theirs] = (await arrives) as [Socket];
    // More than fits on the way.
    reader.write('GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(40));
    await until('answers wait for the reader', () => theirs.writableLength > 0);
    for (let minute = 0; minute < 2; minute++) {
      ok(!theirs.destroyed);
      await clock.advance(60_000);
    }
    await until('he is cut off', () => theirs.destroyed);
    reader.destroy();
  });
});
