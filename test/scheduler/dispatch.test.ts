import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { newState } from '../support/gateway/stand-in-state.ts';
import { eventually, openScene } from './support.ts';

const CHAT = '/v1/chat/completions';

void suite('a gateway that is there', () => {
  let scene: Awaited<ReturnType<typeof openScene>>;
  before(async () => {
    scene = await openScene();
  });
  beforeEach(() => {
    const { token, recorded } = scene.gateway.state;
    Object.assign(scene.gateway.state, {
      plan: newState(token).plan,
      draining: false,
      chatCompletions: true,
    });
    recorded.length = 0;
  });
  after(() => scene[Symbol.asyncDispose]());

  test('an isolated run is exactly one chat completion with the agent, the session key and the prompt [SC-08 SC-81]', async () => {
    scene.gateway.state.plan = () => ({ text: 'we fixed the rate limit bug, all good' });
    const made = await scene.plan({ name: 'audit', agent_id: 'ops', payload_message: 'look at the logs' });
    const run = await scene.ended(await scene.run(made));
    assert.equal(run.status, 'ok');
    assert.equal(run.output, 'we fixed the rate limit bug, all good');
    assert.deepEqual(run.usage, { input_tokens: 100, output_tokens: 7, total_tokens: 107 });
    const [request, ...more] = scene.gateway.requests(CHAT);
    assert.deepEqual(more, []);
    const headers = request?.headers ?? {};
    assert.equal(headers['authorization'], 'Bearer token-of-the-stand-in');
    assert.equal(headers['x-openclaw-agent-id'], 'ops');
    assert.equal(headers['x-openclaw-session-key'], `scheduler:${made.id}:${run.id}`);
    const body = request?.body as {
      model: string;
      stream: boolean;
      messages: { role: string; content: string }[];
    };
    assert.equal(body.model, 'openclaw:ops');
    assert.equal(body.stream, false);
    assert.equal(body.messages.length, 1);
    assert.equal(body.messages[0]?.role, 'user');
    assert.ok(body.messages[0]?.content.startsWith(`[scheduler:${made.id} audit]`));
    assert.ok(body.messages[0]?.content.endsWith('look at the logs'));
    assert.equal(run.context_summary?.['delivery_guarantee'], 'at-most-once');
  });

  test('a slow agent delays nobody: a shell job starts at once beside it', async () => {
    scene.gateway.state.plan = () => ({ hang: true });
    const slow = await scene.plan({ name: 'slow', payload_message: 'think' });
    const quick = await scene.plan({ name: 'quick', session_target: 'shell', payload_message: 'true' });
    const slowRun = await scene.run(slow);
    await eventually('the agent is asked', 5_000, async () => scene.gateway.requests(CHAT)[0] ?? null);
    const shell = await scene.ended(await scene.run(quick));
    assert.equal(shell.status, 'ok');
    const still = (await scene.runs(slow))[0];
    assert.deepEqual([still?.id, still?.status], [slowRun, 'running'], 'the agent is still at work');
    scene.gateway.finish(`agent:main:scheduler:${slow.id}:${slowRun}`, 'thought it over');
    assert.equal((await scene.ended(slowRun)).status, 'ok');
  });

  test('what is due is done by a process beside the gateway, with calls that it has anyway, and by nobody’s hand [SC-01 SC-02]', async () => {
    const made = await scene.plan({ name: 'by the clock', payload_message: 'x', in: '1s' });
    const [run] = await eventually('it was due, and done', 20_000, async () => {
      const runs = await scene.runs(made);
      return runs[0]?.status === 'ok' ? runs : null;
    });
    assert.equal(run?.kind, 'cron');
    const called = new Set(scene.gateway.state.recorded.map(({ path }) => path.split('?')[0]));
    const offered = ['/health', '/readyz', '/v1/chat/completions', '/tools/invoke', '/hooks/wake'];
    assert.deepEqual(
      [...called].filter((path) => !offered.includes(path ?? '')),
      [],
    );
    assert.equal(scene.gateway.requests(CHAT).length, 1);
  });

  test('three runs of an overlapping schedule are in flight at the same time [SC-23]', async () => {
    scene.gateway.state.plan = () => ({ hang: true });
    const made = await scene.plan({ name: 'wide', payload_message: 'x', overlap_policy: 'allow' });
    const ids = await Promise.all([scene.run(made), scene.run(made), scene.run(made)]);
    await eventually('three are asked at once', 45_000, async () => {
      const open = scene.gateway.requests(CHAT).filter(({ endedAt }) => endedAt === null);
      return open.length === 3 ? open : null;
    });
    for (const id of ids) scene.gateway.finish(`agent:main:scheduler:${made.id}:${id}`, 'ok');
    for (const id of ids) assert.equal((await scene.ended(id)).status, 'ok');
  });

  test('a draining gateway delays, not fails', async () => {
    scene.gateway.state.draining = true;
    const made = await scene.plan({ name: 'later', payload_message: 'x' });
    const id = await scene.run(made);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    assert.equal((await scene.runs(made))[0]?.finished_at, null);
    scene.gateway.state.draining = false;
    assert.equal((await scene.ended(id)).status, 'ok');
  });

  test('TASK_FAILED is an error that says what the agent said; a model that fails is one too', async () => {
    scene.gateway.state.plan = (message) =>
      message.includes('first')
        ? { text: 'TASK_FAILED: no disk' }
        : { failure: { status: 502, type: 'api_error', message: 'upstream provider error' } };
    const first = await scene.plan({ name: 'first', payload_message: 'first' });
    const failed = await scene.ended(await scene.run(first));
    assert.deepEqual([failed.status, failed.output?.includes('no disk')], ['error', true]);
    assert.deepEqual(failed.usage, { input_tokens: 100, output_tokens: 7, total_tokens: 107 });
    const second = await scene.plan({ name: 'second', payload_message: 'other' });
    assert.equal((await scene.ended(await scene.run(second))).status, 'error');
  });

  test('a gateway that serves no chat completions is an error that says what to set [SC-92]', async () => {
    scene.gateway.state.chatCompletions = false;
    const made = await scene.plan({ name: 'missing', payload_message: 'x' });
    const missing = await scene.ended(await scene.run(made));
    assert.equal(missing.status, 'error');
    assert.match(missing.error_message ?? '', /chatCompletions\.enabled/);
  });
});

// They wait for a gateway that is away or takes its time, each beside a server of its own.
void suite('one gateway or another', { concurrency: 2 }, () => {
  test('without a token no Authorization is sent [SC-89]', async () => {
    await using scene = await openScene({ token: null });
    const run = await scene.ended(await scene.run(await scene.plan({ name: 'open', payload_message: 'x' })));
    assert.equal(run.status, 'ok');
    assert.equal(scene.gateway.requests(CHAT)[0]?.headers['authorization'], undefined);
  });

  test('a turn goes over the WebSocket where the gateway offers it [SC-08]', async () => {
    await using scene = await openScene({ websocket: true });
    scene.gateway.state.plan = () => ({ text: 'over the wire' });
    const run = await scene.ended(await scene.run(await scene.plan({ name: 'wire', payload_message: 'x' })));
    assert.equal(run.output, 'over the wire');
    assert.equal(scene.gateway.requests(CHAT).length, 0);
    assert.equal(scene.gateway.requests('agent').length, 1);
  });

  test('a main-session job goes to the hook, and is done when the gateway took it [SC-07]', async () => {
    await using scene = await openScene({ env: { OPENCLAW_HOOK_TOKEN: newState(null).hookToken } });
    const made = await scene.plan({ name: 'wake', session_target: 'main', payload_message: 'good morning' });
    assert.equal((await scene.ended(await scene.run(made))).status, 'ok');
    const [wake] = scene.gateway.requests('/hooks/wake');
    assert.match(JSON.stringify(wake?.body), /good morning/);
  });

  test('a gateway that is down delays, fails nothing, and holds up nobody else; afterwards the run is made once [SC-03]', async () => {
    await using scene = await openScene();
    await scene.gateway.down();
    const made = await scene.plan({ name: 'later', payload_message: 'x', in: '1s' });
    const shell = await scene.plan({ name: 'meanwhile', session_target: 'shell', payload_message: 'true' });
    await eventually('the tick has fired', 6_000, async () => (await scene.runs(made))[0] ?? null);
    assert.equal((await scene.ended(await scene.run(shell))).status, 'ok');
    assert.deepEqual(
      (await scene.runs(made)).map(({ status }) => status),
      ['pending'],
    );
    await scene.gateway.up();
    const [waiting] = await scene.runs(made);
    const run = await scene.ended(waiting?.id ?? '');
    assert.equal(run.status, 'ok');
    assert.equal((await scene.runs(made)).length, 1);
    assert.equal(scene.gateway.requests(CHAT).length, 1);
  });

  test('a run whose turn failed shows what the turn took', async () => {
    await using scene = await openScene({ websocket: true });
    const failure = { status: 502, type: 'api_error', message: 'upstream provider error' };
    scene.gateway.state.plan = () => ({ failure });
    const made = await scene.plan({ name: 'costly', payload_message: 'x' });
    const { status, usage } = await scene.ended(await scene.run(made));
    assert.equal(status, 'error');
    assert.deepEqual(usage, { input_tokens: 100, output_tokens: 7, total_tokens: 107 });
  });

  test('runs go to the gateway that their schedule names', async () => {
    await using other = await openScene();
    await using scene = await openScene({
      env: {
        SPINE_GATEWAYS: JSON.stringify({ ops: { url: other.gateway.url, token: 'token-of-the-stand-in' } }),
      },
    });
    const made = await scene.plan({ name: 'there', gateway: 'ops', payload_message: 'x' });
    assert.equal((await scene.ended(await scene.run(made))).status, 'ok');
    assert.deepEqual([scene.gateway.requests(CHAT).length, other.gateway.requests(CHAT).length], [0, 1]);
  });

  test('a gateway that refuses our token takes no work and says so; its runs wait, and go on when it takes it [SC-92]', async () => {
    await using scene = await openScene({ env: { OPENCLAW_GATEWAY_TOKEN: 'another' } });
    const made = await scene.plan({ name: 'refused', payload_message: 'x' });
    const id = await scene.run(made);
    const why = await eventually('the gateway is looked at', 10_000, async () => {
      const { body } = await scene.server.head.get<{ workers: { ready: boolean; why: string | null }[] }>(
        '/health/details',
      );
      return body.workers.find(({ ready }) => !ready)?.why ?? null;
    });
    assert.match(why, /OPENCLAW_GATEWAY_TOKEN/);
    assert.equal((await scene.runs(made))[0]?.status, 'pending');
    scene.gateway.state.anyToken = true;
    assert.equal((await scene.ended(id)).status, 'ok');
  });
});
