import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SpineClient } from '../../src/client/index.ts';
import { startServer } from '../support/server.ts';
import { codeIn, runExample } from './example.ts';
import { until } from './support.ts';

const examples = codeIn('docs/guides/workers.md');

test('the code of the workers guide is the code of the examples', () => {
  strictEqual(examples.size, 2);
  for (const [file, code] of examples)
    strictEqual(code, readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'), file);
});

test('the examples of the workers guide do what the guide says', async () => {
  await using server = await startServer();
  const env = { SPINE_BASE_URL: server.url };
  await using producer = runExample(examples.get('examples/enqueue.mjs') ?? '', {
    ...env,
    SPINE_TOKEN: server.tokens.head,
  });
  strictEqual(await producer.ended, 0, producer.output());
  match(producer.output(), /^Job \S+ is queued\nA short nap queued\n$/);

  await using worker = runExample(examples.get('examples/worker.mjs') ?? '', {
    ...env,
    SPINE_TOKEN: server.tokens.left,
  });
  const client = new SpineClient({ baseUrl: server.url, token: server.tokens.head });
  const done = await until(async () => {
    const { jobs } = await client.jobs.listPage({ status: 'done' });
    return jobs[0];
  });
  deepStrictEqual([done.result, done.attempts], [{ slept: 100 }, 1]);
  const lines: string[] = [];
  for await (const { text } of client.jobs.logs(done.id)) lines.push(text);
  deepStrictEqual(lines, ['Sleeping for 100 ms']);
  worker.process.kill('SIGTERM');
  strictEqual(await worker.ended, 0, worker.output());
  strictEqual(worker.output(), '');
});

test('the example of the guide to questions asks, and goes on with the answer and its checkpoint', async () => {
  const [file = '', code = ''] = [...codeIn('docs/guides/questions.md')][0] ?? [];
  strictEqual(code, readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'), file);
  await using server = await startServer();
  const client = new SpineClient({ baseUrl: server.url, token: server.tokens.head });
  await client.aliases.save({ alias: 'ops', channel: 'log' });
  const { id } = await client.jobs.create({ target: 'any', spec: { version: '4.2' }, maxAttempts: 1 });
  await using worker = runExample(code, { SPINE_BASE_URL: server.url, SPINE_TOKEN: server.tokens.left });
  const question = await until(async () => (await client.questions.list({ open: true })).questions[0]);
  strictEqual(question.question, 'Publish 4.2.tgz now?');
  await client.questions.answer(question.id, 'yes');
  const done = await until(async () => {
    const job = await client.jobs.get(id);
    return job.state === 'done' && job;
  });
  deepStrictEqual([done.result, done.attempts], [{ file: '4.2.tgz', when: 'yes' }, 1]);
  strictEqual(worker.output(), '');
});
