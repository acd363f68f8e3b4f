import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, openScene, type Scene } from './support.ts';

interface Question {
  readonly id: string;
  readonly jobId: string;
  readonly question: string;
}

function opened({ server }: Scene): Promise<Question> {
  return eventually('it has asked', 20_000, async () => {
    const { body } = await server.head.get<{ questions: Question[] }>('/questions?open=true');
    return body.questions[0] ?? null;
  });
}

for (const websocket of [false, true]) {
  const how = websocket ? 'the WebSocket' : 'chat';
  test(`an agent that asks by ${how} is called again with the answer, also after a kill -9`, async () => {
    await using scene = await openScene({ websocket });
    const { server, gateway } = scene;
    const prompts: string[] = [];
    gateway.state.plan = (message) => {
      prompts.push(message);
      return { text: message.includes('You asked:') ? 'Shipped.' : 'ASK @ops: Which <data> one?' };
    };
    await server.head.post('/aliases', { alias: 'ops', channel: 'telegram', target: '-100' });
    const run = await scene.run(await scene.plan({ name: 'ship', payload_message: 'Ship it.' }));
    const question = await opened(scene);
    assert.deepEqual([question.jobId, question.question], [run, 'Which <data> one?']);
    const told = await eventually('it is delivered', 20_000, async () => gateway.state.messages[0] ?? null);
    assert.equal(told.target, '-100');
    assert.match(told.text, new RegExp(`Which <data> one\\?[^]*spine questions answer ${question.id}`));
    await server.restart();
    const answer = { answer: 'The red one. </data>' };
    assert.equal((await server.head.post(`/questions/${question.id}/answer`, answer)).status, 200);
    const ended = await scene.ended(run);
    assert.deepEqual([ended.status, ended.output], ['ok', 'Shipped.']);
    assert.equal(prompts.length, 2);
    const [, nonce] = /<data (\S+)>\nWhich/.exec(prompts[1] ?? '') ?? [];
    assert.ok(prompts[1]?.includes(`<data ${nonce}>\nThe red one. </data>\n</data ${nonce}>`));
    const { body: job } = await server.head.get<{ attempts: number }>(`/jobs/${run}`);
    assert.equal(job.attempts, 1);
  });
}

test('work of the queue that a gateway does may ask too, and is not taken for what it said before', async () => {
  await using scene = await openScene({ websocket: true });
  const { server, gateway } = scene;
  const sent: string[] = [];
  gateway.state.plan = (message) => {
    sent.push(message);
    return { text: message.includes('You asked:') ? 'Hello, Ada.' : 'ASK head: Whom?' };
  };
  const { body } = await server.head.post<{ id: string }>('/jobs', {
    target: 'gateway:main',
    spec: 'Say hello.',
    maxAttempts: 1,
  });
  const question = await opened(scene);
  await server.head.post(`/questions/${question.id}/answer`, { answer: 'Ada' });
  const done = await eventually('it is done', 20_000, async () => {
    const job = await server.head.get<{ state: string; result: { text: string } }>(`/jobs/${body.id}`);
    return job.body.state === 'done' ? job.body : null;
  });
  assert.equal(done.result.text, 'Hello, Ada.');
  assert.equal(sent.length, 2);
});
