import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { callerWith, eventually, openScene } from './support.ts';

const run = promisify(execFile);

/** The commands that a prompt prints, as an agent would copy them. */
function printedCalls(prompt: string): string[] {
  return prompt.split('\n').filter((line) => line.startsWith('curl '));
}

function tokenIn(prompt: string): string {
  return /Bearer (turn\.[\w.-]+)/.exec(prompt)?.[1] ?? assert.fail('no token in the prompt');
}

async function answerOf(call: string): Promise<Record<string, unknown>> {
  const { stdout } = await run('/bin/sh', ['-c', call]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

const LONG = `Which one?${' It is a long story.'.repeat(50)} The end.`;

type Opened = Awaited<ReturnType<typeof openScene>>;

/** Starts a run and waits for what its agent is told. */
async function told(
  scene: Opened,
  draft: { readonly agent_id?: string } & Record<string, unknown> = {},
): Promise<{ id: string; session: string; prompt: string }> {
  const made = await scene.plan({ name: 'asks', payload_message: 'Do it.', ...draft });
  const id = await scene.run(made);
  const session = `agent:${draft['agent_id'] ?? 'main'}:scheduler:${made.id}:${id}`;
  const live = await eventually(
    'it runs',
    10_000,
    async () => scene.gateway.state.runs.live(session) ?? null,
  );
  return { id, session, prompt: live.message };
}

test('an agent at a gateway can do what its prompt prints: spawn, say how far it is, keep a checkpoint, and log [WK-43]', async () => {
  await using scene = await openScene({ websocket: true });
  scene.gateway.state.plan = (message) => (message.includes('Do it.') ? { hang: true } : { text: 'done' });
  const { id, session, prompt } = await told(scene);
  const [spawn = '', tell = '', answer = '', progress = '', checkpoint = '', log = '', read = ''] =
    printedCalls(prompt);
  const said = await answerOf(tell);
  assert.equal(said['to_agent'], 'main');
  assert.equal((await answerOf(read.replace('<id>', String(said['id']))))['body'], 'What it should know.');
  assert.equal((await answerOf(spawn))['kind'], 'spawn');
  await eventually('the child has run', 10_000, async () => {
    const { body } = await scene.server.head.get<{ runs: { output: string | null }[] }>('/runs?status=ok');
    return body.runs.some(({ output }) => output === 'done') ? true : null;
  });
  assert.equal((await answerOf(answer))['error'], 'not_found');
  assert.equal((await answerOf(progress))['progress'], 'halfway');
  assert.ok((await answerOf(checkpoint))['checkpointAt']);
  assert.equal((await answerOf(log))['accepted'], 1);

  await using agent = callerWith(scene, tokenIn(prompt));
  const own = await agent.get(`/runs/${id}`);
  assert.equal(own.status, 200);
  const { body: job } = await scene.server.head.get<{ leaseToken?: string }>(`/jobs/${id}`);
  assert.ok(job.leaseToken === undefined || !own.text.includes(job.leaseToken));
  for (const [verb, body] of [
    ['complete', { result: 'mine' }],
    ['fail', { error: 'x' }],
    ['release', {}],
    ['ask', { question: 'x', to: 'head', timeoutMs: 1 }],
    ['comment', { text: 'x' }],
  ] as const)
    assert.equal((await agent.post(`/jobs/${id}/${verb}`, body)).status, verb === 'ask' ? 403 : 401, verb);
  for (const path of ['/jobs', `/jobs/${id}`]) assert.equal((await agent.get(path)).status, 401, path);
  for (const path of ['/schedules', '/messages', '/events', '/tokens'])
    assert.equal((await agent.get(path)).status, 403, path);
  const me = await agent.get<{ role: string; job: string; may: string[] }>('/me');
  assert.deepEqual([me.body.role, me.body.job], ['run', id]);
  assert.ok(me.body.may.includes('heartbeat') && !me.body.may.includes('completeJob'));
  assert.equal((await agent.post('/jobs', { parentId: id })).status, 401);

  scene.gateway.finish(session, 'ok');
  await scene.ended(id);
  assert.equal((await answerOf(spawn))['error'], 'unauthorized');
});

test('an agent at a gateway answers what it is asked in its prompt, and no other run does', async () => {
  await using scene = await openScene({ websocket: true });
  const { head } = scene.server;
  scene.gateway.state.plan = (message) => {
    if (!message.includes('Ship it.')) return { hang: true };
    return { text: message.includes('You asked:') ? 'Shipped.' : `ASK ops: ${LONG}` };
  };
  await head.post('/agents', { id: 'ops' });
  const asking = await scene.run(await scene.plan({ name: 'ship', payload_message: 'Ship it.' }));
  const question = await eventually('it has asked', 10_000, async () => {
    const { body } = await head.get<{ questions: { id: string }[] }>('/questions?open=true');
    return body.questions[0]?.id ?? null;
  });
  const path = `/questions/${question}`;
  const judge = await told(scene, { name: 'judge', agent_id: 'ops' });
  assert.match(judge.prompt, new RegExp(`From: main [^]*Answer with POST ${path}/answer[^]*Which one\\?`));
  const read = printedCalls(judge.prompt).at(-1)?.replace('<id>', question) ?? '';
  assert.match(String((await answerOf(read))['body']), /Which one\?[^]*The end\.$/);
  // Of the same agent, but the question came to another run; and of the agent that asks.
  for (const agent_id of ['ops', 'main']) {
    const other = await told(scene, { name: `other ${agent_id}`, agent_id });
    assert.doesNotMatch(other.prompt, /Which one\?/);
    await using caller = callerWith(scene, tokenIn(other.prompt));
    assert.equal((await caller.get(path)).status, 403, agent_id);
    assert.equal((await caller.post(`${path}/answer`, { answer: 'x' })).status, 403, agent_id);
  }
  const [, tell = '', printed = ''] = printedCalls(judge.prompt);
  const reply = tell.replace('"to_agent":"main"', `"reply_to":"${question}"`);
  assert.match(String((await answerOf(reply))['message']), new RegExp(`POST ${path}/answer`));
  const call = printed.replace('<id>', question).replace('Your answer.', 'The red one.');
  const answered = await answerOf(call);
  assert.deepEqual([answered['answer'], answered['answeredBy']], ['The red one.', 'ops']);
  assert.equal((await answerOf(call))['status'], 'answered');
  assert.equal((await scene.ended(asking)).output, 'Shipped.');
});

test('an agent at a gateway is steered: its heartbeat brings what was sent to it meanwhile, once', async () => {
  await using scene = await openScene({ websocket: true });
  scene.gateway.state.plan = () => ({ hang: true });
  const { id, session, prompt } = await told(scene);
  const [, , , progress = ''] = printedCalls(prompt);
  const { head } = scene.server;
  const send = async (body: string) =>
    (await head.post<{ id: string }>('/messages', { to_agent: 'main', body })).body.id;
  const bodies = async () =>
    ((await answerOf(progress))['messages'] as { body: string }[] | undefined)?.map(({ body }) => body) ?? [];
  const statusOf = async (which: string) =>
    (await head.get<{ status: string }>(`/messages/${which}`)).body.status;
  const first = await send('Stop at ten.');
  assert.deepEqual(await bodies(), ['Stop at ten.']);
  assert.deepEqual(await bodies(), []);
  assert.equal(await statusOf(first), 'delivered');
  const last = await send('And then rest.');
  assert.deepEqual(await bodies(), ['And then rest.']);
  assert.equal(await statusOf(last), 'pending');
  scene.gateway.finish(session, 'ok');
  await scene.ended(id);
  assert.equal(await statusOf(last), 'delivered');
});

test('the token in a prompt lives on when another server takes the turn over, and stands for no other run', async () => {
  await using scene = await openScene({ websocket: true });
  scene.gateway.state.plan = () => ({ hang: true });
  const first = await told(scene);
  const second = await told(scene);
  await scene.server.kill('SIGKILL');
  await scene.server.restart();
  const [, , , progress = ''] = printedCalls(first.prompt);
  await eventually('it is taken over', 15_000, async () =>
    (await answerOf(progress))['progress'] === 'halfway' ? true : null,
  );
  const forged = progress.replaceAll(first.id, second.id);
  assert.equal((await answerOf(forged))['error'], 'unauthorized');
  const foreign = progress.replace(`/jobs/${first.id}/`, `/jobs/${second.id}/`);
  assert.equal((await answerOf(foreign))['error'], 'forbidden');
});

test('an agent is told the address that the settings say', async () => {
  await using scene = await openScene({
    websocket: true,
    env: { SPINE_AGENT_URL: 'http://spine.lan:9999/' },
  });
  scene.gateway.state.plan = () => ({ hang: true });
  assert.match((await told(scene)).prompt, /curl -sS 'http:\/\/spine\.lan:9999\/messages'/);
});
