import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aliasesNamed, destinationOf, gatewayPlace, placeProblem } from '../../src/domain/alias.ts';
import { toldOfEvent, toldOfRun } from '../../src/domain/delivery-text.ts';
import type { Job } from '../../src/domain/job.ts';
import { summaryOf } from '../../src/domain/output.ts';

const to = (deliveryTo: string | null, deliveryChannel: string | null = null) =>
  destinationOf({ deliveryTo, deliveryChannel });

test('an alias is written with @, or bare where no channel is named [SC-50]', () => {
  assert.deepEqual(to('@ops'), { alias: 'ops' });
  assert.deepEqual(to('ops'), { alias: 'ops' });
  assert.deepEqual(to('@ops', 'telegram'), { alias: 'ops' });
  assert.deepEqual(to('123', 'telegram'), { channel: 'telegram', target: '123' });
  assert.deepEqual(to('telegram:123', 'telegram'), { channel: 'telegram', target: '123' });
  assert.deepEqual(to('telegram/123'), { channel: 'telegram', target: '123' });
  assert.deepEqual(to('https://example.com/x'), { channel: 'webhook', target: 'https://example.com/x' });
  assert.deepEqual(to(null, 'log'), { channel: 'log', target: '' });
  assert.equal(to(null), null);
  const spec = { deliveryTo: 'ops', deliveryChannel: null } as const;
  assert.deepEqual(aliasesNamed({ ...spec, deliveryMode: 'announce' }), ['@ops']);
  assert.deepEqual(aliasesNamed({ ...spec, deliveryMode: 'none' }), []);
});

test('a place at a gateway names its channel, and the gateway when it is not main', () => {
  assert.deepEqual(gatewayPlace('telegram:-5'), { gateway: 'main', channel: 'telegram', target: '-5' });
  assert.deepEqual(gatewayPlace('ops/discord:a:b'), { gateway: 'ops', channel: 'discord', target: 'a:b' });
  assert.equal(gatewayPlace('nothing'), null);
  const problem = (channel: string, target: string) =>
    placeProblem({ channel, target }, ['main'])?.problem ?? null;
  assert.equal(problem('gateway', 'telegram:1'), null);
  assert.match(problem('gateway', 'ops/telegram:1') ?? '', /"ops", which is not configured/);
  assert.match(problem('telegram', ' ') ?? '', /missing/);
  assert.match(problem('Tele gram', '1') ?? '', /not a channel/);
  assert.equal(problem('log', ''), null);
});

const job = (state: Job['state'], cause: Job['cause'] = null) => ({ id: 'r1', state, cause });
type Mode = 'announce' | 'announce-always' | 'none';
const spec = (deliveryMode: Mode = 'announce', sessionTarget: 'isolated' | 'main' = 'isolated') => ({
  name: 'nightly',
  deliveryMode,
  sessionTarget,
});
const said = (text: string) => ({ result: JSON.stringify({ text }), error: null });
const told = (text: string, mode?: Mode) => toldOfRun(job('done'), spec(mode), said(text))?.text ?? null;

test('announce delivers every reply but the sentinels; announce-always those too; none nothing [SC-29]', () => {
  assert.equal(told('All good'), 'All good');
  for (const word of ['HEARTBEAT_OK', 'NO_FLUSH', 'NO_FLUSH ', 'IDEMPOTENT_SKIP: again'])
    assert.equal(told(word), null, word);
  assert.equal(told('NO_FLUSH but'), 'NO_FLUSH but');
  assert.equal(told('HEARTBEAT_OK', 'announce-always'), 'HEARTBEAT_OK');
  assert.equal(told('All good', 'none'), null);
  assert.equal(told(''), 'Job done: nightly (no output)');
  assert.equal(toldOfRun(job('done'), spec('announce', 'main'), said('x')), null);
  assert.equal(summaryOf('NO_FLUSH '), 'nothing to flush');
});

test('failures are told with what went wrong, whatever was said; those that were cancelled are not', () => {
  const failure = (state: Job['state'], cause: Job['cause'] = null) =>
    toldOfRun(job(state, cause), spec(), { result: null, error: '{"message":"no disk"}' })?.text ?? null;
  assert.equal(failure('failed'), '⚠️ Job failed: nightly\n\nno disk');
  assert.equal(failure('dead', 'timeout'), '[timeout] Job timed out: nightly\n\nno disk');
  assert.equal(failure('failed', 'crashed'), '⚠️ Job crashed: nightly\n\nno disk');
  assert.equal(failure('cancelled'), null);
  assert.equal(failure('skipped'), null);
});

test('what is delivered of one text is bounded, and never ends in half a character', () => {
  const text = told(`x${'😀'.repeat(20_000)}`) ?? '';
  assert.ok(text.length < 20_100 && text.isWellFormed());
  assert.match(text, /spine runs get r1/);
  assert.equal(told('a\0b\ud800'), 'ab\ufffd', 'PostgreSQL takes no NUL');
});

test('an event is told in a line, with the beginning of what was said', () => {
  const of = { id: 'r1', no: 7, reason: 'not needed' };
  assert.equal(toldOfEvent(of, 'done', 'Digest', said('Fine')), '✅ Job done: Digest (#7)\n\nFine');
  const nothing = { result: null, error: null };
  assert.equal(toldOfEvent(of, 'cancelled', 'Digest', nothing), 'Job cancelled: Digest (#7)\n\nnot needed');
});
