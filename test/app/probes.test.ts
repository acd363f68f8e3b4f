import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openProbes, type Probes } from '../../src/app/probes.ts';
import { AddressGuard } from '../../src/channels/guard.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { listen } from '../support/receivers.ts';

const NEVER = new AbortController().signal;

async function opened(shell: boolean, hosts: readonly string[] = []): Promise<Probes & AsyncDisposable> {
  const probes = openProbes(new AddressGuard(hosts), shell, systemClock());
  return { ...probes, [Symbol.asyncDispose]: () => probes.stop() };
}

test('a command says by its exit code whether there is work, and is ended when its time is up [TQ-44]', async () => {
  await using probes = await opened(true);
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['echo 9 days old', 'stale', /^9 days old$/],
    ['echo "an hour old" >&2; exit 1', 'fresh', /^an hour old$/],
    ['echo no such host; exit 7', 'unsure', /^exit code 7: no such host$/],
    ['kill -9 $$', 'unsure', /^exit code none$/],
    ['echo "$HEAD_TOKEN$SPINE_TOKEN"', 'stale', /^$/],
  ];
  for (const [command, verdict, said] of cases) {
    const answer = await probes.ask(command, 20_000, NEVER);
    assert.equal(answer.verdict, verdict, command);
    assert.match(answer.said, said);
  }
  const late = await probes.ask('sleep 60', 50, NEVER);
  assert.deepEqual(late, { verdict: 'unsure', said: 'it did not end within 0.05 s' });
  const stopping = new AbortController();
  const ended = probes.ask('sleep 60', 60_000, stopping.signal);
  stopping.abort();
  assert.equal((await ended).verdict, 'unsure');
});

test('where commands are switched off none is run [TQ-44]', async () => {
  await using probes = await opened(false);
  assert.equal((await probes.ask('exit 1', 1_000, NEVER)).verdict, 'unsure');
});

test('a page says by its status and its words whether there is work, and no inner one is asked [TQ-44]', async () => {
  await using page = await listen(({ path }) => {
    if (path === '/fresh') return { status: 204, body: '' };
    if (path === '/words') return { status: 200, body: { stale: false, reason: 'an hour old' } };
    if (path === '/away') return { status: 302, headers: { location: '/fresh' } };
    return path === '/broken' ? { status: 500 } : { status: 200, body: { stale: true, reason: 'old' } };
  });
  await using probes = await opened(false, ['127.0.0.1']);
  const ask = async (path: string): Promise<string[]> => {
    const { verdict, said } = await probes.ask(`${page.url}${path}`, 5_000, NEVER);
    return [verdict, said];
  };
  assert.deepEqual(await ask('/old'), ['stale', 'old']);
  assert.deepEqual(await ask('/fresh'), ['fresh', 'it answered 204']);
  assert.deepEqual(await ask('/words'), ['fresh', 'an hour old']);
  assert.deepEqual(await ask('/broken'), ['unsure', 'it answered 500']);
  assert.deepEqual(await ask('/away'), ['unsure', 'it answered 302']);
  const resume = page.hang();
  const late = await probes.ask(page.url, 50, NEVER);
  assert.deepEqual(late, { verdict: 'unsure', said: 'its page did not answer within 0.05 s' });
  resume();
  const before = page.came.length;
  await using guarded = await opened(false);
  assert.equal((await guarded.ask(`${page.url}/fresh`, 1_000, NEVER)).verdict, 'unsure');
  assert.equal(page.came.length, before);
});
