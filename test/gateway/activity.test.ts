import { deepStrictEqual, notStrictEqual, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { until } from '../support/clock.ts';
import { ignore, KEY, never, open, type Pair, refOf, TURN } from './support.ts';

/** A turn that runs until the test ends. */
async function running({ gateway, standIn }: Pair, transport: 'websocket' | 'chat'): Promise<void> {
  standIn.state.plan = () => ({ hang: true });
  gateway.run(TURN, transport, never, ignore).catch(ignore);
  await until('the turn runs', () => standIn.state.runs.live(KEY)?.state === 'running');
}

test('a turn that streams changes its mark, one that hangs does not [SC-09]', async (t) => {
  const pair = await open(t);
  await running(pair, 'websocket');
  const turn = refOf(TURN);
  const before = await pair.gateway.activity(turn);
  strictEqual(before.status, 'running');
  notStrictEqual(before.mark, null);
  deepStrictEqual(await pair.gateway.activity(turn), before);
  pair.standIn.state.runs.touch(KEY);
  notStrictEqual((await pair.gateway.activity(turn)).mark, before.mark);
});

test('the tool that runs is shown [SC-09]', async (t) => {
  const pair = await open(t);
  await running(pair, 'websocket');
  pair.standIn.state.runs.touch(KEY, 'exec');
  strictEqual((await pair.gateway.activity(refOf(TURN))).tool, 'exec');
  pair.standIn.state.runs.touch(KEY);
  strictEqual((await pair.gateway.activity(refOf(TURN))).tool, null);
});

test('a turn that waits behind another is queued, and its silence means nothing', async (t) => {
  const pair = await open(t);
  await running(pair, 'websocket');
  const second = { ...TURN, runKey: 'r2:1' };
  let accepted = false;
  pair.gateway.run(second, 'websocket', never, () => (accepted = true)).catch(ignore);
  await until('it was taken', () => accepted);
  deepStrictEqual(await pair.gateway.activity(refOf(second)), { status: 'queued', mark: null, tool: null });
});

test('a turn that has ended, was killed or never was is told apart [SC-09]', async (t) => {
  const { gateway, standIn } = await open(t);
  strictEqual((await gateway.activity(refOf(TURN))).status, 'absent');
  await gateway.run(TURN, 'websocket', never, ignore);
  strictEqual((await gateway.activity(refOf(TURN))).status, 'ended');
  const session = standIn.state.runs.sessions.get(KEY);
  if (session !== undefined) session.status = 'killed';
  strictEqual((await gateway.activity(refOf(TURN))).status, 'ended');
});

test('a chat turn on a gateway of today runs without a mark: updatedAt stands still and means nothing [SC-09]', async (t) => {
  for (const websocket of [true, false]) {
    const pair = await open(t);
    pair.standIn.state.websocket = websocket;
    await running(pair, 'chat');
    const activity = await pair.gateway.activity(refOf(TURN, 'chat'));
    deepStrictEqual(activity, { status: 'running', mark: null, tool: null });
  }
});

test('on a gateway of the past updatedAt is the mark [SC-09]', async (t) => {
  const pair = await open(t);
  Object.assign(pair.standIn.state, { websocket: false, old: true });
  await running(pair, 'chat');
  const turn = refOf(TURN, 'chat');
  const before = await pair.gateway.activity(turn);
  strictEqual(before.status, 'running');
  deepStrictEqual(await pair.gateway.activity(turn), before);
  pair.standIn.state.runs.touch(KEY);
  notStrictEqual((await pair.gateway.activity(turn)).mark, before.mark);
});

for (const monitoring of ['fails', 'garbage'] as const) {
  for (const websocket of [true, false]) {
    test(`monitoring that ${monitoring} says nothing about a turn over ${websocket ? 'the WebSocket' : 'chat'} [SC-09]`, async (t) => {
      const pair = await open(t);
      pair.standIn.state.websocket = websocket;
      await running(pair, websocket ? 'websocket' : 'chat');
      pair.standIn.state.monitoring = monitoring;
      const activity = await pair.gateway.activity(refOf(TURN));
      deepStrictEqual(activity, { status: 'unknown', mark: null, tool: null });
      strictEqual(pair.standIn.state.runs.live(KEY)?.state, 'running');
    });
  }
}

test('a gateway that is away says nothing about a turn', async (t) => {
  const { gateway, standIn } = await open(t);
  await standIn.down();
  strictEqual((await gateway.activity(refOf(TURN))).status, 'unknown');
});
