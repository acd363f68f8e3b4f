import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { FakeClock, until } from '../support/clock.ts';
import { failsAs, ignore, KEY, never, open, type Pair, refOf, TURN } from './support.ts';

const QUICK = { limits: { pollMs: 5, waitMs: 10, resumeMs: 15_000 } };

/** A turn that goes on after its connection is lost. */
async function orphan({ gateway, standIn }: Pair): Promise<void> {
  standIn.state.plan = () => ({ hang: true });
  let accepted = false;
  const failed = failsAs(
    gateway.run(TURN, 'websocket', never, () => (accepted = true)),
    'lost',
    true,
  );
  await until('the turn was taken', () => accepted);
  standIn.dropSockets();
  await failed;
}

test('a turn whose connection was lost is followed to its answer', async (t) => {
  const pair = await open(t, QUICK);
  await orphan(pair);
  const followed = pair.gateway.follow(refOf(TURN), never);
  await until('it was looked for', () => pair.standIn.requests('sessions.list').length > 1);
  pair.standIn.finish(KEY, 'still here');
  deepStrictEqual(await followed, {
    text: 'still here',
    usage: { inputTokens: 100, outputTokens: 7, totalTokens: 107 },
    sessionKey: KEY,
  });
});

test('a turn that a crash cut off is followed through its resumption', async (t) => {
  const pair = await open(t, QUICK);
  await orphan(pair);
  await pair.standIn.crash();
  const followed = pair.gateway.follow(refOf(TURN), never);
  await pair.standIn.up();
  await until('it was looked for', () => pair.standIn.requests('sessions.describe').length > 1);
  strictEqual((await pair.gateway.activity(refOf(TURN))).status, 'unknown');
  pair.standIn.resume(KEY, { hang: true });
  strictEqual((await pair.gateway.activity(refOf(TURN))).status, 'running');
  pair.standIn.finish(KEY, 'resumed');
  strictEqual((await followed).text, 'resumed');
});

test('a turn that nobody resumes is given up as lost', async (t) => {
  const clock = new FakeClock();
  const pair = await open(t, { clock });
  await orphan(pair);
  await pair.standIn.crash();
  await pair.standIn.up();
  let over = false;
  const startedAt = clock.now();
  const failed = failsAs(pair.gateway.follow(refOf(TURN), never), 'lost', true).finally(() => (over = true));
  await until('it was given up', async () => {
    await clock.advance(1_000);
    return over;
  });
  match((await failed).message, /no sign of the turn for 300000 ms/);
  strictEqual(clock.now() - startedAt >= 300_000, true);
});

test('a turn that the gateway does not know is lost', async (t) => {
  const { gateway } = await open(t, QUICK);
  await failsAs(gateway.follow(refOf(TURN), never), 'lost', true);
});

test('a turn that ended badly meanwhile fails as it would have', async (t) => {
  const pair = await open(t, QUICK);
  await orphan(pair);
  const failure = { status: 502, type: 'api_error', message: 'provider internal error, HTTP 500' };
  pair.standIn.state.runs.live(KEY)?.finish({ status: 'failed', failure });
  const { usage } = await failsAs(pair.gateway.follow(refOf(TURN), never), 'upstream', true);
  deepStrictEqual(usage, { inputTokens: 100, outputTokens: 7, totalTokens: 107 });
});

test('a turn that was killed, and then forgotten in a restart, was aborted', async (t) => {
  const pair = await open(t, QUICK);
  await orphan(pair);
  pair.standIn.state.runs.live(KEY)?.finish({ status: 'killed' });
  pair.standIn.state.runs.crash();
  await failsAs(pair.gateway.follow(refOf(TURN), never), 'aborted', true);
});

test('a chat turn is followed over HTTP where there is no WebSocket', async (t) => {
  const pair = await open(t, QUICK);
  pair.standIn.state.websocket = false;
  pair.standIn.state.plan = () => ({ hang: true });
  const startedAt = Date.now();
  pair.standIn.state.runs.start({ runId: 'somebody', key: KEY, message: 'hello', inLedger: false });
  const followed = pair.gateway.follow({ ...refOf(TURN, 'chat'), startedAt }, never);
  await until('it was looked for', () => pair.standIn.requests('/tools/invoke').length > 1);
  pair.standIn.finish(KEY, 'over HTTP');
  strictEqual((await followed).text, 'over HTTP');
});

test('a gateway of the past, which tells no end, cannot be followed', async (t) => {
  const pair = await open(t, QUICK);
  Object.assign(pair.standIn.state, { websocket: false, old: true, plan: () => ({ hang: true }) });
  pair.standIn.state.runs.start({ runId: 'somebody', key: KEY, message: 'hello', inLedger: false });
  await failsAs(pair.gateway.follow(refOf(TURN, 'chat'), never), 'lost', true);
});

test('an answer from before the turn is not its answer', async (t) => {
  const { gateway, standIn } = await open(t, QUICK);
  standIn.state.plan = () => ({ text: 'of yesterday' });
  await gateway.run({ ...TURN, runKey: 'r0:1' }, 'websocket', never, ignore);
  const later = { ...refOf(TURN), startedAt: Date.now() + 60_000 };
  strictEqual((await gateway.follow(later, never)).text, '');
});

test('following no longer stops the turn', async (t) => {
  const pair = await open(t, QUICK);
  await orphan(pair);
  const stop = new AbortController();
  const failed = failsAs(pair.gateway.follow(refOf(TURN), stop.signal), 'aborted', true);
  await until('it was looked for', () => pair.standIn.requests('sessions.list').length > 0);
  stop.abort();
  await failed;
  strictEqual(pair.standIn.state.runs.sessions.get(KEY)?.status, 'killed');
});

test('a turn that cannot be stopped because the gateway went away is lost, not safe to try again', async (t) => {
  const pair = await open(t, QUICK);
  await orphan(pair);
  const stop = new AbortController();
  const failed = failsAs(pair.gateway.follow(refOf(TURN), stop.signal), 'lost', true);
  await until('it was looked for', () => pair.standIn.requests('sessions.list').length > 0);
  await pair.standIn.down();
  stop.abort();
  await failed;
});

test('closing the gateway ends the following, not the turn', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ hang: true });
  const stop = new AbortController();
  gateway.run(TURN, 'websocket', stop.signal, ignore).catch(() => undefined);
  await until('the turn runs', () => standIn.state.runs.live(KEY) !== undefined);
  const followed = gateway.follow({ ...TURN, transport: 'websocket', startedAt: 0 }, never);
  const failed = failsAs(followed, 'lost', true);
  await gateway.close();
  await failed;
  ok(standIn.state.runs.live(KEY) !== undefined);
});
