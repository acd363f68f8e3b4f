import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ScheduleSpec } from '../../src/domain/schedule.ts';
import { completeSchedule, SCHEDULE_FIELDS, toSnake } from '../../src/domain/schedule-draft.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const FACTS = { now: NOW, shellAllowed: true, gateways: ['home', 'office'] };
type Draft = Readonly<Record<string, unknown>>;

const DAILY = { name: 'nightly', schedule: '0 2 * * *', payload_message: 'audit' };
const CHILD = { name: 'next', parent_id: 'p1', trigger_on: 'success', payload_message: 'go on' };

function made(draft: Draft, base: ScheduleSpec | null = null, facts = FACTS): ScheduleSpec {
  const completed = completeSchedule(draft, base, facts);
  assert.ok(completed.ok, completed.ok ? '' : completed.problem);
  return completed.spec;
}

function refusal(
  draft: Draft,
  base: ScheduleSpec | null = null,
  facts = FACTS,
): [field: string, problem: string] {
  const completed = completeSchedule(draft, base, facts);
  assert.ok(!completed.ok, `accepted ${Object.keys(draft).join(' ')}`);
  assert.match(completed.problem, /^[^\n]{10,400}[.?]$/);
  assert.ok(completed.problem.includes(completed.field), completed.problem);
  return [completed.field, completed.problem];
}

test("the text's own example is accepted and every default is filled in [SC-77] [SC-20]", () => {
  const draft = { ...DAILY, delivery_guarantee: 'at-least-once' };
  assert.deepEqual(made(draft), {
    name: 'nightly',
    description: null,
    scheduleKind: 'cron',
    scheduleCron: '0 2 * * *',
    scheduleTz: 'UTC',
    scheduleAt: null,
    scheduleEveryMs: null,
    endsAt: null,
    maxRuns: null,
    jitterS: 0,
    catchUp: 'once',
    catchUpMax: 25,
    catchUpWindowS: 86_400,
    parentId: null,
    triggerOn: null,
    triggerDelayS: 0,
    triggerCondition: null,
    maxTriggerFanout: 25,
    sessionTarget: 'isolated',
    agentId: 'main',
    gateway: 'home',
    payloadKind: 'agentTurn',
    payloadMessage: 'audit',
    payloadModel: null,
    payloadThinking: null,
    payloadTimeoutSeconds: 120,
    payloadScope: 'own',
    preferredSessionKey: null,
    target: 'any',
    type: null,
    params: null,
    budget: null,
    tags: null,
    announce: false,
    probe: null,
    probeTimeoutS: 30,
    priority: 0,
    runTimeoutMs: null,
    staleThresholdS: null,
    overlapPolicy: 'skip',
    maxQueuedDispatches: 25,
    maxRetries: 0,
    resourcePool: null,
    deliveryGuarantee: 'at-least-once',
    deleteAfterRun: false,
    approvalRequired: false,
    approvalTimeoutS: 3_600,
    approvalAuto: 'reject',
    maxPendingApprovals: 10,
    jobClass: 'standard',
    contextRetrieval: 'none',
    contextRetrievalLimit: 5,
    deliveryMode: 'announce',
    deliveryChannel: null,
    deliveryTo: null,
    managedBy: null,
  });
});

test('names may be snake_case, camelCase or synonyms, and one field is named once [SC-77]', () => {
  const spec = made({
    name: 'n',
    scheduleCron: '0 9 * * 1',
    timezone: 'Europe/Stockholm',
    payloadMessage: 'm',
    maxRetries: 2,
  });
  assert.deepEqual(
    [spec.scheduleCron, spec.scheduleTz, spec.maxRetries],
    ['0 9 * * 1', 'Europe/Stockholm', 2],
  );
  made({ ...DAILY, schedule_cron: DAILY.schedule });
  assert.equal(refusal({ ...DAILY, schedule_cron: '0 3 * * *' })[0], 'schedule_cron');
});

test('the agent, its model, its thinking and where its words go can be said [SC-77]', () => {
  const said = {
    agent_id: 'ops',
    gateway: 'office',
    payload_model: 'openclaw/ops',
    payload_thinking: 'high',
    payload_timeout_seconds: 300,
    delivery_channel: 'telegram',
    delivery_to: '@ops-channel',
    session_target: 'main',
  };
  const shown = toSnake(made({ ...DAILY, ...said }));
  for (const [name, value] of Object.entries(said)) assert.equal(shown[name], value, name);
  assert.equal(shown['payload_kind'], 'systemEvent');
});

test('a child has a parent, a trigger and perhaps a delay and a condition, and no clock [SC-36] [SC-37]', () => {
  const spec = made({ ...CHILD, trigger_delay_s: 30, trigger_condition: 'contains:ALERT' });
  assert.deepEqual(
    [spec.scheduleKind, spec.triggerDelayS, spec.triggerCondition],
    ['child', 30, 'contains:ALERT'],
  );
  const { trigger_on: _, ...bare } = CHILD;
  assert.equal(refusal(bare)[0], 'trigger_on');
  assert.equal(refusal({ ...CHILD, schedule_cron: '0 2 * * *' })[0], 'schedule_cron');
  assert.equal(refusal({ ...CHILD, in: '5m' })[0], 'schedule_at');
  assert.equal(refusal({ ...CHILD, trigger_condition: 'regex:[' })[0], 'trigger_condition');
  assert.equal(refusal({ ...CHILD, trigger_delay_s: -1 })[0], 'trigger_delay_s');
  for (const stray of [
    { trigger_on: 'success' },
    { trigger_delay_s: 5 },
    { trigger_condition: 'contains:x' },
  ])
    assert.match(refusal({ ...DAILY, ...stray })[1], /goes with parent_id/);
});

test('a field that nothing would look at is refused by its name', () => {
  const forAgents = {
    payload_model: 'm',
    payload_thinking: 'high',
    payload_timeout_seconds: 60,
    payload_scope: 'global',
    preferred_session_key: 'k',
    stale_threshold_s: 60,
    job_class: 'pre_compaction_flush',
    context_retrieval: 'recent',
    context_retrieval_limit: 3,
  };
  for (const [name, value] of Object.entries(forAgents)) {
    const [field, problem] = refusal({ ...DAILY, session_target: 'queue', [name]: value });
    assert.equal(field, name);
    assert.match(
      problem,
      /goes with an agent; (leave it out|send run_timeout_ms instead) when session_target/,
    );
  }
  const moved = made({ session_target: 'queue' }, made({ ...DAILY, ...forAgents }));
  assert.deepEqual(toSnake(moved), toSnake(made({ ...DAILY, session_target: 'queue' })));
});

test('earlier runs are told to turns of an agent: none, the newest or the fitting, 5 unless said [SC-62 SC-64]', () => {
  const { contextRetrieval, contextRetrievalLimit } = made(DAILY);
  assert.deepEqual([contextRetrieval, contextRetrievalLimit], ['none', 5]);
  for (const context_retrieval of ['none', 'recent', 'hybrid'])
    assert.equal(made({ ...DAILY, context_retrieval }).contextRetrieval, context_retrieval);
  assert.equal(refusal({ ...DAILY, context_retrieval: 'all' })[0], 'context_retrieval');
  for (const context_retrieval_limit of [0, 101, 1.5])
    assert.equal(refusal({ ...DAILY, context_retrieval_limit })[0], 'context_retrieval_limit');
  const main = { ...DAILY, session_target: 'main', context_retrieval: 'recent' };
  assert.match(refusal(main)[1], /context_retrieval goes with turns, which have a reply/);
  const turns = made({ ...main, payload_kind: 'agentTurn' });
  assert.equal(turns.contextRetrieval, 'recent');
  assert.equal(refusal({ payload_kind: 'systemEvent' }, turns)[0], 'context_retrieval');
});

test('a budget is for the worker of a queue, and any JSON that is not too long', () => {
  const budget = { tokens: 20_000, usd: 0.5 };
  const queue = { ...DAILY, session_target: 'queue' };
  assert.deepEqual(made({ ...queue, budget }).budget, budget);
  assert.equal(made(queue).budget, null);
  assert.match(refusal({ ...DAILY, budget })[1], /budget goes with session_target queue/);
  assert.equal(refusal({ ...queue, budget: 'x'.repeat(10_001) })[0], 'budget');
});

test('intervals and single times are read in every notation', () => {
  const base = { name: 'n', payload_message: 'm' };
  for (const every of [5_400_000, '90m', '1h30m', '5400s'])
    assert.equal(made({ ...base, every }).scheduleEveryMs, 5_400_000);
  const nine = Date.UTC(2026, 10, 16, 9);
  for (const at of [nine, '2026-11-16T09:00Z', '2026-11-16T10:00:00+01:00', '2026-11-16 09:00:00.000'])
    assert.equal(made({ ...base, at }).scheduleAt, nine);
  assert.equal(made({ ...base, at: '2026-11-16T10:00', timezone: 'Europe/Stockholm' }).scheduleAt, nine);
  assert.equal(made({ ...base, in: '15m' }).scheduleAt, NOW + 900_000);
  const anchored = made({ ...base, every: '1h', at: nine });
  assert.deepEqual([anchored.scheduleKind, anchored.scheduleAt], ['every', nine]);
  assert.equal(made({ ...base, schedule_kind: 'manual' }).scheduleKind, 'manual');
  for (const at of ['tomorrow', '2026-02-30T09:00Z', '2026-11-16', '2026-11-16T25:00Z', 1.5, -1, true, 1e18])
    assert.equal(refusal({ ...base, at })[0], 'schedule_at', String(at));
  for (const every of [0, 999, '15', '15 m', 'm', 1.5, '99999w', null])
    assert.match(refusal({ ...base, every })[0], /^schedule_(every_ms|cron)$/, String(every));
  assert.equal(refusal({ ...base, in: '5m', at: nine })[0], 'in');
});

test('a time that has just passed fires at once, an older one is refused', () => {
  const base = { name: 'n', payload_message: 'm' };
  assert.equal(made({ ...base, at: NOW - 59_000 }).scheduleAt, NOW);
  assert.match(
    refusal({ ...base, at: NOW - 61_000 })[1],
    /lies in the past, it is 2026-11-15T12:00:00.000Z now/,
  );
  // The beginning of an interval may lie anywhere.
  assert.equal(made({ ...base, every: '1h', at: 0 }).scheduleAt, 0);
});

test('a first moment that its rule does not know goes with a rule, and lies neither in the past nor after the end', () => {
  const next = (draft: Draft) => refusal({ ...DAILY, ...draft });
  assert.equal(next({ next_run_at: NOW - 61_000 })[0], 'next_run_at');
  assert.equal(next({ next_run_at: 'soon' })[0], 'next_run_at');
  assert.match(next({ next_run_at: NOW + 5_000, ends_at: NOW + 4_000 })[1], /comes after ends_at/);
  const moment = { name: 'n', payload_message: 'm', at: NOW + 1 };
  assert.match(
    refusal({ ...moment, next_run_at: NOW + 2 })[1],
    /goes with schedule_cron or schedule_every_ms/,
  );
  const answer = completeSchedule({ ...DAILY, next_run_at: '2026-12-24T18:00:00Z' }, null, FACTS);
  assert.equal(answer.ok && answer.nextRunAt, Date.parse('2026-12-24T18:00:00Z'));
});

test('there is exactly one trigger', () => {
  assert.match(refusal({ name: 'n', payload_message: 'm' })[1], /schedule_cron is missing/);
  assert.equal(refusal({ ...DAILY, every: '5m' })[0], 'schedule_every_ms');
  assert.equal(refusal({ ...DAILY, at: NOW + 1 })[0], 'schedule_at');
  assert.equal(refusal({ ...DAILY, schedule_kind: 'manual' })[0], 'schedule_cron');
  assert.equal(refusal({ ...DAILY, schedule: null, schedule_kind: 'cron' })[0], 'schedule_cron');
  for (const schedule of ['99 * * * *', '* * * *', '', '0 0 31 2 *'])
    assert.equal(refusal({ ...DAILY, schedule })[0], 'schedule_cron');
  assert.equal(refusal({ ...DAILY, timezone: 'Mars/X' })[0], 'schedule_tz');
});

test('a change touches only what it names, and a new trigger clears the old one', () => {
  const daily = made({ ...DAILY, max_retries: 3, payload_model: 'x' });
  assert.deepEqual(made({ max_retries: 1 }, daily), { ...daily, maxRetries: 1 });
  assert.deepEqual(made({ max_retries: null, payload_model: null }, daily), {
    ...daily,
    maxRetries: 0,
    payloadModel: null,
  });
  const every = made({ every: '5m' }, daily);
  assert.deepEqual([every.scheduleKind, every.scheduleCron, every.scheduleEveryMs], ['every', null, 300_000]);
  const child = made({ ...CHILD, trigger_delay_s: 9, trigger_condition: 'contains:x' });
  const rooted = made({ schedule: '0 3 * * *' }, child);
  assert.deepEqual(
    [rooted.parentId, rooted.triggerOn, rooted.triggerDelayS, rooted.triggerCondition],
    [null, null, 0, null],
  );
  assert.equal(made({ parent_id: 'p2' }, child).triggerOn, 'success');
  assert.match(refusal({ parent_id: null }, child)[1], /parent_id is missing/);
  assert.equal(made({ schedule_kind: 'manual' }, daily).scheduleCron, null);
  // An old single time may stay as it is.
  const once = made({ name: 'n', payload_message: 'm', in: '1m' });
  assert.deepEqual(made({ ...toSnake(once), name: 'o' }, once, { ...FACTS, now: NOW + 1e9 }), {
    ...once,
    name: 'o',
  });
});

test('the place of a run decides what it is and how long it may take', () => {
  const shell = made({ name: 'n', schedule: '@daily', command: 'true' });
  assert.deepEqual(
    [shell.sessionTarget, shell.payloadKind, shell.payloadMessage, shell.runTimeoutMs],
    ['shell', 'shellCommand', 'true', 300_000],
  );
  const agent = made({ session_target: 'isolated' }, shell);
  assert.deepEqual([agent.payloadKind, agent.runTimeoutMs], ['agentTurn', null]);
  const queue = made({
    name: 'n',
    schedule: '@daily',
    session_target: 'queue',
    target: 'gpu',
    type: 'render',
    params: { a: [1] },
  });
  assert.deepEqual(
    [queue.payloadKind, queue.payloadMessage, queue.target, queue.params],
    ['job', '', 'gpu', { a: [1] }],
  );
  assert.equal(refusal({ ...DAILY, target: 'gpu' })[0], 'target');
  assert.equal(refusal({ ...DAILY, session_target: 'queue', payload_model: 'x' })[0], 'payload_model');
  assert.equal(refusal({ ...DAILY, payload_kind: 'shellCommand' })[0], 'payload_kind');
  for (const session_target of ['isolated', 'main', 'shell'])
    assert.equal(
      refusal({ name: 'n', schedule: '@daily', session_target, payload_message: ' \n' })[0],
      'payload_message',
    );
});

test('commands need the switch, and gateways must be known', () => {
  const off = { ...FACTS, shellAllowed: false };
  const command = { name: 'n', schedule: '@daily', command: 'true' };
  assert.match(refusal(command, null, off)[1], /SPINE_SHELL=on/);
  const shell = made(command);
  assert.equal(made({ name: 'm' }, shell, off).name, 'm');
  assert.equal(refusal({ command: 'rm' }, shell, off)[0], 'session_target');
  assert.match(refusal({ ...DAILY, gateway: 'moon' })[1], /use home or office/);
  assert.equal(made(DAILY, null, { ...FACTS, gateways: [] }).gateway, 'main');
});

test('unknown fields are refused with the name that was probably meant', () => {
  assert.match(refusal({ ...DAILY, max_retrys: 1 })[1], /did you mean max_retries\?/);
  assert.match(refusal({ ...DAILY, payloadMesage: 'x' })[1], /did you mean payload_message\?/);
  assert.match(refusal({ ...DAILY, zzzzzzzz: 1 })[1], /leave it out/);
  assert.match(refusal({ ...DAILY, last_run_at: 1 })[1], /decided by Spine/);
  assert.equal(refusal(JSON.parse('{"__proto__":1,"name":"n"}') as Draft)[0], '__proto__');
  assert.equal(refusal({ ...DAILY, constructor: 1 })[0], 'constructor');
});

test('values outside their limits are refused by their field [SC-77]', () => {
  const wrong: readonly Draft[] = [
    { name: '' },
    { name: ' ' },
    { name: null },
    { name: 'x'.repeat(201) },
    { name: 'a\nb' },
    { name: 'a\u0000b' },
    { name: '\ud800' },
    { payload_message: 'x'.repeat(100_001) },
    { payload_message: 'bell \u0007' },
    { payload_message: 5 },
    { agent_id: 'Ops' },
    { agent_id: 'a b' },
    { agent_id: '' },
    { tags: 'a' },
    { tags: [''] },
    { tags: ['a', 7] },
    { tags: Array.from({ length: 33 }, () => 'a') },
    { max_retries: 11 },
    { max_retries: '1' },
    { max_retries: 1.5 },
    { catch_up_max: 1_001 },
    { catch_up: 'maybe' },
    { overlap_policy: 'Skip' },
    { delete_after_run: 'yes' },
    { delete_after_run: 2 },
    { resource_pool: 'a/b' },
    { run_timeout_ms: 0 },
    { enabled: 'on' },
  ];
  for (const draft of wrong)
    assert.equal(
      refusal({ ...DAILY, ...draft })[0],
      Object.keys(draft)[0],
      JSON.stringify(draft).slice(0, 80),
    );
  const queue = { name: 'n', schedule: '@daily', session_target: 'queue' };
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  assert.equal(refusal({ ...queue, params: deep })[0], 'params');
  assert.equal(refusal({ ...queue, params: 'x'.repeat(100_001) })[0], 'params');
});

test('lines and tabs are fine in a message, and SQLite truth is truth', () => {
  assert.equal(made({ ...DAILY, payload_message: 'a\n\tb\r\n😀' }).payloadMessage, 'a\n\tb\r\n😀');
  assert.equal(made({ ...DAILY, delete_after_run: 1 }).deleteAfterRun, true);
  const enabled = (draft: Draft) => {
    const completed = completeSchedule({ ...DAILY, ...draft }, null, FACTS);
    return completed.ok ? completed.enabled : 'refused';
  };
  assert.deepEqual(
    [enabled({ enabled: 0 }), enabled({ enabled: true }), enabled({})],
    [false, true, undefined],
  );
});

test('what is shown can be sent back, and changes nothing', () => {
  const trigger = fc.constantFrom<Draft>(
    { schedule: '0 2 * * 1-5', schedule_tz: 'Asia/Tokyo' },
    { every: '10m', at: NOW },
    { in: '1h' },
    { parent_id: 'p', trigger_on: 'failure', trigger_condition: 'regex:^OK', trigger_delay_s: 3 },
    { schedule_kind: 'manual' },
  );
  const place = fc.constantFrom<Draft>(
    {},
    { session_target: 'main', payload_kind: 'agentTurn' },
    { session_target: 'shell' },
    { session_target: 'queue', params: { a: 1 }, type: 't' },
  );
  const rest = fc.record(
    {
      max_retries: fc.integer({ min: 0, max: 10 }),
      overlap_policy: fc.constantFrom('skip', 'allow', 'queue'),
      delete_after_run: fc.boolean(),
      run_timeout_ms: fc.option(fc.integer({ min: 1, max: 1e9 })),
      description: fc.constantFrom('some\nlines', null),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(trigger, place, rest, (trigger, place, rest) => {
      const spec = made({ name: 'n', payload_message: 'm', ...trigger, ...place, ...rest });
      assert.deepEqual(made(toSnake(spec)), spec);
      assert.deepEqual(made(toSnake(spec), spec), spec);
      assert.deepEqual(made({}, spec), spec);
    }),
  );
});

test('no body makes it throw', () => {
  const name = fc.constantFrom(
    ...SCHEDULE_FIELDS.flatMap(({ name, key, synonyms = [] }) => [name, key, ...synonyms]),
  );
  fc.assert(
    fc.property(fc.dictionary(name, fc.oneof(fc.jsonValue(), fc.anything()), { maxKeys: 6 }), (draft) => {
      const completed = completeSchedule({ ...DAILY, ...draft }, null, FACTS);
      if (!completed.ok) assert.ok(completed.problem.includes(completed.field));
    }),
    { numRuns: 2_000 },
  );
});

test('the table of fields has a help for each, and defaults that its own rule accepts', () => {
  assert.equal(new Set(SCHEDULE_FIELDS.map(({ name }) => name)).size, SCHEDULE_FIELDS.length);
  for (const { name, help } of SCHEDULE_FIELDS) {
    assert.match(help, /^[^\n]{5,140}\.$/, name);
    assert.match(name, /^[a-z]+(_[a-z]+)*$/);
  }
  const defaults = SCHEDULE_FIELDS.filter((field) => field.default !== null && field.default !== '');
  made({ ...Object.fromEntries(defaults.map((field) => [field.name, field.default])), ...DAILY });
});
