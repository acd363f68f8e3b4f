import { deepStrictEqual, rejects, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { GatewaySessionRunner } from '../../src/worker/sessions/gateway-session.ts';
import type { SessionOrder } from '../../src/worker/sessions/session.ts';
import { nextRound } from '../client/support.ts';
import { failed, ScriptedGateway } from './scripted-gateway.ts';

const ORDER: SessionOrder = {
  id: 'agent:main:worker-slot-1:x',
  prompt: 'Paint the shed.',
  model: 'm',
  thinking: 'low',
  channel: 'internal',
  conversation: null,
  continues: false,
  workingDir: null,
  env: {},
  leaseMs: 90_000,
  timeoutMs: 1_000,
  mayAsk: true,
  askedMs: null,
};

test('a session at a gateway is one turn in a session of its own [WK-14 WK-15]', async () => {
  const gateway = new ScriptedGateway();
  gateway.onRun = ({ answer }) => answer('Painted it.');
  const session = await new GatewaySessionRunner(gateway, () => 1_000).begin(ORDER);
  const { ok, text } = await session.ended;
  deepStrictEqual([ok, text], [true, 'Painted it.']);
  const [turn] = gateway.turns.map((each) => each.turn);
  deepStrictEqual(
    [turn?.sessionKey, turn?.message, turn?.model, turn?.thinking],
    [ORDER.id, ORDER.prompt, 'm', 'low'],
  );
});

test('an agent that says it could not do it has not done it [WK-19 WK-20]', async () => {
  const gateway = new ScriptedGateway();
  gateway.onRun = ({ answer }) => answer('TASK_FAILED: no paint');
  const session = await new GatewaySessionRunner(gateway, () => 1_000).begin(ORDER);
  strictEqual((await session.ended).ok, false);
});

test('an agent that asks has neither done it nor failed, where somebody tells it the answer', async () => {
  const gateway = new ScriptedGateway();
  gateway.onRun = ({ answer }) => answer('ASK @ops: Which shed?');
  const runner = new GatewaySessionRunner(gateway, () => 1_000);
  const { ok, asked } = await (await runner.begin(ORDER)).ended;
  deepStrictEqual([ok, asked?.question.to, asked?.question.question], [false, '@ops', 'Which shed?']);
  const alone = await (await runner.begin({ ...ORDER, mayAsk: false })).ended;
  deepStrictEqual([alone.ok, alone.asked, alone.text], [true, undefined, 'ASK @ops: Which shed?']);
});

test('a session at a gateway is ended there, also one that another process began [WK-23 WK-32]', async () => {
  const gateway = new ScriptedGateway();
  const runner = new GatewaySessionRunner(gateway, () => 1_000);
  const session = await runner.begin(ORDER);
  await session.kill();
  strictEqual((await session.ended).ok, false);
  await runner.endLeftover('another');
  deepStrictEqual(gateway.aborts, [
    { agentId: 'main', sessionKey: ORDER.id },
    { agentId: 'main', sessionKey: 'another' },
  ]);
});

test('a turn whose connection broke is followed to its answer, and is not begun again [WK-15]', async () => {
  const gateway = new ScriptedGateway();
  gateway.onRun = ({ fail }) => fail(failed('lost', true));
  const session = await new GatewaySessionRunner(gateway, () => 1_000).begin(ORDER);
  await nextRound();
  const [followed] = gateway.follows;
  deepStrictEqual(
    [followed?.ref.sessionKey, followed?.ref.runKey, followed?.ref.startedAt],
    [ORDER.id, ORDER.id, 1_000],
  );
  followed?.answer('Painted it all the same.');
  deepStrictEqual((await session.ended).text, 'Painted it all the same.');
  strictEqual(gateway.turns.length, 1);
});

test('a turn that cannot be found again has no end that is known, and can still be ended [WK-23]', async () => {
  const gateway = new ScriptedGateway();
  gateway.onRun = ({ fail }) => fail(failed('lost', true));
  gateway.onFollow = () => Promise.reject(failed('lost', true, 'no sign of the turn'));
  const session = await new GatewaySessionRunner(gateway, () => 1_000).begin(ORDER);
  await rejects(session.ended, /no sign of the turn/);
  await session.kill();
  deepStrictEqual(gateway.aborts, [{ agentId: 'main', sessionKey: ORDER.id }]);
});

test('a task whose turn a gateway does not take, as it takes none, waits; one that it refuses has failed [WK-24]', async () => {
  const gateway = new ScriptedGateway();
  const runner = new GatewaySessionRunner(gateway, () => 1_000);
  for (const kind of ['down', 'draining', 'unauthorized', 'rate_limited'] as const) {
    gateway.onRun = ({ fail }) => fail(failed(kind));
    await rejects((await runner.begin(ORDER)).ended, { name: 'PutOff', delayMs: 30_000 }, kind);
  }
  gateway.onRun = ({ fail }) => fail(failed('refused'));
  strictEqual((await (await runner.begin(ORDER)).ended).ok, false);
  gateway.onRun = ({ fail }) => fail(failed('rate_limited', true));
  strictEqual((await (await runner.begin(ORDER)).ended).ok, false);
  gateway.transport = () => Promise.reject(failed('down'));
  await rejects(runner.begin(ORDER), { name: 'PutOff' });
});
