import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { buildSchedulerProgram } from '../../src/cli/scheduler/program.ts';
import { envOf, spine } from '../cli/support.ts';
import { callerWith, eventually, openScene, type Scene } from './support.ts';

const CHAT = '/v1/chat/completions';

interface RunPrompt {
  readonly run_id: string;
  readonly prompt: string;
  readonly prompt_hash: string;
}

type Open = Awaited<ReturnType<typeof openScene>>;

/** What the agent of the last turn saw. */
function lastPrompt({ gateway }: Open): string {
  const body = gateway.requests(CHAT).at(-1)?.body as { messages: { content: string }[] };
  return body.messages[0]?.content ?? '';
}

/** A run that the agent answers so. */
async function answered(scene: Open, made: { readonly id: string }, text: string): Promise<string> {
  scene.gateway.state.plan = () => ({ text });
  const id = await scene.run(made);
  assert.equal((await scene.ended(id)).status, 'ok');
  return id;
}

const promptOf = async ({ server }: Scene, id: string): Promise<RunPrompt> =>
  (await server.head.get<RunPrompt>(`/runs/${id}/prompt`)).body;

test('a run is told what those before it said, and shows exactly what its agent saw [SC-14 SC-31 SC-62 SC-65]', async () => {
  await using scene = await openScene();
  const made = await scene.plan({
    name: 'report',
    payload_message: 'Write it.',
    context_retrieval: 'recent',
    context_retrieval_limit: 2,
  });
  for (const text of ['R1', 'R2', 'R3']) await answered(scene, made, text);
  const id = await answered(scene, made, 'R4');
  const sent = lastPrompt(scene);
  assert.match(sent, /\n\[\d{4}-\d\d-\d\d \d\d:\d\d\] R3\n\[\d{4}-\d\d-\d\d \d\d:\d\d\] R2\n/);
  assert.doesNotMatch(sent, /\] R1$/m);

  const [token = ''] = /turn\.[\w.-]+/.exec(sent) ?? [];
  const shown = await promptOf(scene, id);
  assert.equal(shown.prompt, sent.replaceAll(token, '<token of this run>'));
  assert.equal(shown.prompt_hash, createHash('sha256').update(sent).digest('hex'));
  const { body: run } = await scene.server.head.get(`/runs/${id}`);
  assert.equal(run['prompt_hash'], shown.prompt_hash);

  const env = envOf(scene.server);
  const exact = await spine(['runs', 'get', id, '--prompt'], { env });
  assert.equal(exact.stdout, `${shown.prompt}\n`);
  const same = await spine(['runs', 'get', id.slice(0, 20), '--prompt', '--json'], {
    env,
    build: buildSchedulerProgram,
  });
  assert.deepEqual(JSON.parse(same.stdout), shown);

  const expected = {
    messages_injected: 0,
    scope: 'own',
    aliases_resolved: [],
    job_class: 'standard',
    delivery_guarantee: 'at-most-once',
    context_retrieval: 'recent',
    retrieval_results: 2,
  };
  const { stdout } = await spine(['runs', 'list', made.id, '--json'], { env, build: buildSchedulerProgram });
  const [listed] = JSON.parse(stdout) as { context_summary: object }[];
  assert.deepEqual(listed?.context_summary, expected);
  assert.deepEqual(run['context_summary'], expected);
  const people = await spine(['runs', 'list', made.id], { env, build: buildSchedulerProgram });
  assert.match(people.stdout, /2 earlier runs +R4/);
});

test('what an agent saw is for head alone, and not there of a run without an agent', async () => {
  await using scene = await openScene();
  const made = await scene.plan({ name: 'report', payload_message: 'Write it.' });
  const id = await answered(scene, made, 'done');
  const { body } = await scene.server.head.post<{ token: string }>('/tokens', { name: 'v', role: 'viewer' });
  await using viewer = callerWith(scene, body.token);
  for (const caller of [viewer, scene.server.left])
    assert.equal((await caller.get(`/runs/${id}/prompt`)).status, 403);
  assert.equal((await scene.server.head.get('/runs/nobody/prompt')).status, 404);
  const shell = await scene.plan({ name: 'shell', session_target: 'shell', payload_message: 'true' });
  const silent = await scene.run(shell);
  await scene.ended(silent);
  const { status, body: refusal } = await scene.server.head.get(`/runs/${silent}/prompt`);
  assert.deepEqual([status, refusal['message']], [404, 'No agent was sent anything in this run.']);
});

test('a flush job asks for what matters, and a global one says how to see every session [SC-28 SC-48]', async () => {
  await using scene = await openScene();
  const flush = await scene.plan({ name: 'flush', payload_message: 'x', job_class: 'pre_compaction_flush' });
  await answered(scene, flush, 'Decisions: none');
  assert.ok(
    lastPrompt(scene).includes(
      [
        '[SYSTEM: Pre-compaction flush required]',
        'Write a structured summary of: active decisions, constraints, task owners, open questions.',
        'Format as labeled sections. If nothing needs flushing, respond with exactly: NO_FLUSH',
        '[END SYSTEM]',
      ].join('\n'),
    ),
  );
  assert.doesNotMatch(lastPrompt(scene), /sessions_list/);
  const [run] = await scene.runs(flush);
  assert.equal(run?.context_summary?.['job_class'], 'pre_compaction_flush');

  const wide = await scene.plan({ name: 'wide', payload_message: 'x', payload_scope: 'global' });
  await answered(scene, wide, 'seen');
  assert.match(
    lastPrompt(scene),
    /\[SYSTEM NOTE -- scope=global\][^]*do NOT use `subagents list`[^]*`sessions_list` with no session filter/,
  );
  assert.equal((await scene.runs(wide))[0]?.context_summary?.['scope'], 'global');
  const own = await scene.plan({ name: 'own', payload_message: 'x' });
  await answered(scene, own, 'seen');
  assert.doesNotMatch(lastPrompt(scene), /scope=global|flush required/);
});

test('a child is told what its parent really said, an agent and a command [SC-13]', async () => {
  await using scene = await openScene();
  scene.gateway.state.plan = (message) => ({ text: message.includes('look') ? 'XYZ' : 'ok' });
  for (const [name, parent] of [
    ['XYZ', { payload_message: 'look' }],
    ['printed', { session_target: 'shell', payload_message: 'echo printed; echo wrong >&2' }],
  ] as const) {
    const first = await scene.plan({ name: `parent ${name}`, ...parent });
    const child = await scene.plan({
      name: `child ${name}`,
      parent_id: first.id,
      trigger_on: 'success',
      payload_message: 'go on',
    });
    const parentRun = await scene.run(first);
    await scene.ended(parentRun);
    const run = await scene.ended(await childRun(scene, child));
    assert.equal(run.triggered_by_run, parentRun);
    assert.match(lastPrompt(scene), new RegExp(`Trigger Context[^]*<data (\\S+)>\\n${name}\\n</data \\1>`));
    assert.equal(run.context_summary?.['triggered_by_run'], parentRun);
  }
  assert.match(
    lastPrompt(scene),
    /Parent shell result:\nexit code: 0\nstdout:[^]*stderr:\n<data \S+>\nwrong\n/,
  );
});

function childRun(scene: Scene, child: { readonly id: string }): Promise<string> {
  return eventually('the child is started', 5_000, async () => (await scene.runs(child))[0]?.id ?? null);
}
