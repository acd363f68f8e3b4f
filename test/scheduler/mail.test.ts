import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callerWith, eventually, openScene, type Scene } from './support.ts';

const CHAT = '/v1/chat/completions';

interface Sent {
  readonly id: string;
  readonly status: string;
  readonly receipts: readonly { agent: string; delivered_at: string | null; read_at: string | null }[];
}

async function send(scene: Scene, body: Record<string, unknown>): Promise<Sent> {
  const answer = await scene.server.head.post<Sent>('/messages', body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

const read = async (scene: Scene, { id }: Sent): Promise<Sent> =>
  (await scene.server.head.get<Sent>(`/messages/${id}`)).body;

/** Whatever way they went. */
const turns = ({ gateway }: Awaited<ReturnType<typeof openScene>>) => [
  ...gateway.requests(CHAT),
  ...gateway.requests('agent'),
];

function prompts(scene: Awaited<ReturnType<typeof openScene>>): string[] {
  return scene.gateway
    .requests(CHAT)
    .map(({ body }) => (body as { messages: { content: string }[] }).messages[0]?.content ?? '');
}

test('a prompt has the messages in their order, with labels, without what has run out [SC-11 SC-33 SC-34 SC-69 SC-70]', async () => {
  await using scene = await openScene();
  const ops = { to_agent: 'ops', from_agent: 'lead' };
  await send(scene, { ...ops, kind: 'text', priority: 2, body: 'the text' });
  await send(scene, { ...ops, kind: 'fact', body: 'the fact', owner: 'lab' });
  await send(scene, { ...ops, kind: 'constraint', body: 'the old constraint', owner: 'boss' });
  await send(scene, {
    ...ops,
    kind: 'constraint',
    priority: 2,
    body: 'the urgent constraint',
    owner: 'boss',
  });
  const gone = await send(scene, {
    ...ops,
    body: 'gone',
    expires_at: new Date(Date.now() - 1_000).toISOString(),
  });
  const soon = await send(scene, { ...ops, kind: 'decision', body: 'for a moment', ttl_s: 1 });
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const made = await scene.plan({ name: 'audit', agent_id: 'ops', payload_message: 'look' });
  const run = await scene.ended(await scene.run(made));
  const [prompt = ''] = prompts(scene);
  const places = [
    '--- Pending Messages ---',
    '[constraint] (owner: boss) the urgent constraint',
    '[constraint] (owner: boss) the old constraint',
    '[fact] (owner: lab) the fact',
    '\nthe text\n',
  ].map((text) => prompt.indexOf(text));
  assert.ok(places[0] !== -1, prompt);
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
  assert.doesNotMatch(prompt, /gone|for a moment/);
  assert.equal(run.context_summary?.['messages_injected'], 4);
  for (const each of [gone, soon]) assert.equal((await read(scene, each)).status, 'expired');
  // They have arrived, and do not come again; nobody has read them.
  await scene.ended(await scene.run(made));
  assert.doesNotMatch(prompts(scene)[1] ?? '', /Pending Messages/);
});

for (const websocket of [false, true]) {
  const way = websocket ? 'over the WebSocket' : 'by chat completions';
  test(`a run that fails ${way} swallows nothing: its messages are in the next prompt, and arrive with that [SC-68 SC-70]`, async () => {
    await using scene = await openScene({ websocket });
    const sent = await send(scene, { to_agent: 'ops', body: 'do not lose me' });
    const made = await scene.plan({ name: 'audit', agent_id: 'ops', payload_message: 'look' });
    scene.gateway.state.plan = () => ({ failure: { status: 500, type: 'api_error', message: 'broken' } });
    assert.equal((await scene.ended(await scene.run(made))).status, 'error');
    assert.match(JSON.stringify(turns(scene)[0]?.body), /do not lose me/);
    assert.deepEqual((await read(scene, sent)).receipts, [
      { agent: 'ops', delivered_at: null, read_at: null },
    ]);
    scene.gateway.state.plan = () => ({ text: 'ok' });
    assert.equal((await scene.ended(await scene.run(made))).status, 'ok');
    assert.match(JSON.stringify(turns(scene).at(-1)?.body), /do not lose me/);
    const { status, receipts } = await read(scene, sent);
    assert.equal(status, 'delivered');
    assert.equal(receipts[0]?.read_at, null);
    const used = scene.gateway.requests(websocket ? CHAT : 'agent');
    assert.equal(used.length, 0, 'the turns went the other way');
  });
}

test('a broadcast is in the prompt of each agent once, also of those that come later [SC-68 SC-70 SC-80]', async () => {
  await using scene = await openScene();
  await send(scene, { to_agent: 'broadcast', body: 'all hands' });
  for (const agent_id of ['main', 'ops']) {
    const made = await scene.plan({ name: agent_id, agent_id, payload_message: 'look' });
    for (let i = 0; i < 2; i++) await scene.ended(await scene.run(made));
  }
  assert.deepEqual(
    prompts(scene).map((prompt) => prompt.split('all hands').length - 1),
    [1, 0, 1, 0],
  );
  const { body } = await scene.server.head.get<{ agents: { id: string; status: string }[] }>('/agents');
  assert.deepEqual(
    body.agents.map(({ id }) => id).filter((id) => !id.endsWith('claw')),
    ['main', 'ops'],
  );
});

test('an agent answers from within its turn, under its own name', async () => {
  await using scene = await openScene();
  const sent = await send(scene, { to_agent: 'ops', from_agent: 'lead', body: 'a question' });
  scene.gateway.state.plan = () => ({ hang: true });
  const id = await scene.run(await scene.plan({ name: 'audit', agent_id: 'ops', payload_message: 'x' }));
  const prompt = await eventually('the agent is asked', 10_000, async () => prompts(scene)[0] ?? null);
  const token = /Bearer (turn\.[\w.-]+)/.exec(prompt)?.[1] ?? '';
  const agent = callerWith(scene, token);
  const answer = await agent.post('/messages', {
    reply_to: sent.id,
    body: 'an answer',
  });
  const { from_agent: from, to_agent: to, body } = answer.body;
  assert.deepEqual([answer.status, from, to, body], [201, 'ops', 'lead', 'an answer']);
  const other = await send(scene, { to_agent: 'main', body: 'not for ops' });
  assert.equal((await agent.post('/messages', { reply_to: other.id, body: 'x' })).status, 400);
  const decide = async () =>
    (await agent.post('/messages', { to_agent: 'main', kind: 'decision', body: 'x' })).status;
  assert.equal(await decide(), 403);
  const { head } = scene.server;
  // The grants of the agent's own token are those of its turns, for as long as it has them.
  await head.post('/tokens', { name: 'main', role: 'worker', grants: ['decision'] });
  assert.equal(await decide(), 403, 'another agent may, this one not');
  const made = await head.post<{ id: string }>('/tokens', {
    name: 'ops',
    role: 'worker',
    grants: ['decision'],
  });
  assert.equal(await decide(), 201);
  assert.equal(
    (await agent.post('/messages', { to_agent: 'main', kind: 'constraint', body: 'x' })).status,
    403,
  );
  await head.request('DELETE', `/tokens/${made.body.id}`);
  assert.equal(await decide(), 403);
  agent.close();
  await scene.server.head.post(`/runs/${id}/cancel`, {});
});
