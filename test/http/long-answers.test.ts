import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
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
});
