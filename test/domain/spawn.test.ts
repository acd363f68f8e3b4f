import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeSchedule, SCHEDULE_FIELDS, toSnake } from '../../src/domain/schedule-draft.ts';
import type { Schedule, ScheduleSpec } from '../../src/domain/schedule.ts';
import { spawnedSpec } from '../../src/domain/spawn.ts';

const FACTS = { now: 1_000, shellAllowed: true, gateways: ['main', 'side'] };
const WORDS = { name: 'child', payload_message: 'look closer' };

function parentOf(draft: Record<string, unknown>): Schedule {
  const made = completeSchedule(
    { name: 'parent', payload_message: 'look', schedule_kind: 'manual', ...draft },
    null,
    FACTS,
  );
  assert.ok(made.ok, JSON.stringify(made));
  return {
    no: 1,
    id: 'parent-id',
    spec: made.spec,
    createdAt: 0,
    createdBy: 'head',
    spawnedBy: null,
    enabled: true,
    updatedAt: 0,
    nextRunAt: null,
    lastRunAt: null,
    lastStatus: null,
    consecutiveErrors: 0,
    runCount: 0,
  };
}

const NEEDING_APPROVAL = {
  approval_required: true,
  approval_timeout_s: 60,
  run_timeout_ms: 60_000,
  payload_timeout_seconds: 60,
  max_retries: 1,
  priority: 3,
  delivery_to: '@ops',
  delivery_channel: 'telegram',
};

function made(body: Record<string, unknown>, parent: Schedule): ScheduleSpec {
  const answer = spawnedSpec(body, parent, FACTS);
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.spec;
}

/** For every field a value that its parent does not have and that reaches further. */
const FURTHER: Readonly<Record<string, unknown>> = {
  enabled: false,
  schedule_kind: 'cron',
  schedule_cron: '* * * * *',
  schedule_tz: 'Europe/Paris',
  schedule_at: '2030-01-01T00:00:00Z',
  in: '15m',
  schedule_every_ms: 60_000,
  ends_at: '2031-01-01T00:00:00Z',
  max_runs: 5,
  jitter_s: 60,
  managed_by: 'apply:mine',
  catch_up: 'all',
  catch_up_max: 1_000,
  catch_up_window_s: 1,
  parent_id: 'another',
  trigger_on: 'success',
  trigger_delay_s: 5,
  trigger_condition: 'contains:x',
  max_trigger_fanout: 1_000,
  session_target: 'main',
  agent_id: 'root',
  gateway: 'side',
  payload_kind: 'systemEvent',
  payload_model: 'expensive',
  payload_thinking: 'high',
  payload_timeout_seconds: 61,
  payload_scope: 'global',
  preferred_session_key: 'agent:main:main',
  target: 'somebody-else',
  type: 'other',
  budget: { tokens: 1_000_000 },
  tags: ['vip'],
  announce: true,
  probe: 'https://example.org/',
  probe_timeout_s: 31,
  priority: 4,
  run_timeout_ms: 60_001,
  stale_threshold_s: 86_400,
  overlap_policy: 'allow',
  max_queued_dispatches: 1_000,
  max_retries: 2,
  resource_pool: 'gpu',
  delivery_guarantee: 'at-least-once',
  delete_after_run: false,
  next_run_at: '2099-01-01T00:00:00Z',
  approval_required: false,
  approval_timeout_s: 1,
  approval_auto: 'approve',
  max_pending_approvals: 1_000,
  job_class: 'pre_compaction_flush',
  context_retrieval: 'hybrid',
  context_retrieval_limit: 100,
  delivery_mode: 'announce-always',
  delivery_channel: 'slack',
  delivery_to: '@everybody',
};
const OWN = ['name', 'description', 'payload_message', 'params'];

test('every field of a schedule is refused to a run, by its name, unless it is the child’s own to say', () => {
  const parent = parentOf(NEEDING_APPROVAL);
  for (const { name } of SCHEDULE_FIELDS) {
    if (OWN.includes(name)) continue;
    assert.ok(name in FURTHER, `${name} is new: say here what would reach further than its parent`);
    const answer = spawnedSpec({ ...WORDS, [name]: FURTHER[name] }, parent, FACTS);
    assert.equal(answer.ok, false, name);
    assert.match(answer.ok ? '' : answer.problem, new RegExp(`\\b(${name}|schedule_kind)\\b`));
  }
});

test('where a type says how often a run is tried again, a child may only ask for none', () => {
  const queue = { session_target: 'queue', type: 'build' };
  const ask = (parent: object, fields: object) =>
    spawnedSpec({ name: 'c', ...fields }, parentOf({ ...queue, ...parent }), FACTS);
  const retries = (parent: object, fields: object) => {
    const answer = ask(parent, fields);
    return answer.ok ? answer.spec.maxRetries : answer.field;
  };
  assert.equal(retries({}, {}), null);
  assert.equal(retries({}, { max_retries: 0 }), 0);
  assert.equal(retries({}, { max_retries: 1 }), 'max_retries');
  assert.equal(retries({ max_retries: 2 }, { max_retries: null }), 'max_retries');
  for (const further of [{ announce: true }, { tags: ['vip'] }]) assert.equal(ask({}, further).ok, false);
});

test('null does not ask a field back from what the parent has', () => {
  const parent = parentOf({
    ...NEEDING_APPROVAL,
    payload_scope: 'global',
    agent_id: 'ops',
    overlap_policy: 'queue',
  });
  for (const { name } of SCHEDULE_FIELDS) {
    const answer = spawnedSpec({ ...WORDS, [name]: null }, parent, FACTS);
    if (!answer.ok) continue;
    const { spec } = answer;
    assert.equal(spec.approvalRequired, true, name);
    assert.ok((spec.runTimeoutMs ?? Infinity) <= 60_000, name);
    assert.ok((spec.maxRetries ?? 0) <= 1 && spec.priority <= 3 && spec.payloadTimeoutSeconds <= 60, name);
    assert.deepEqual([spec.agentId, spec.overlapPolicy, spec.deleteAfterRun], ['ops', 'queue', true], name);
  }
});

test('a child is as its parent is: approval, place, session, limits, delivery; once, without a clock', () => {
  for (const draft of [
    NEEDING_APPROVAL,
    { session_target: 'main', schedule_kind: undefined, schedule: '0 2 * * *', preferred_session_key: 'a:b' },
    { session_target: 'shell', run_timeout_ms: 5_000 },
    { session_target: 'queue', target: 'builders', type: 'build', params: { secret: 1 } },
  ]) {
    const parent = parentOf(draft);
    const { name, payload_message, ...rest } = toSnake(made(WORDS, parent));
    assert.deepEqual([name, payload_message], ['child', 'look closer']);
    const { name: _name, payload_message: _message, ...own } = toSnake(parent.spec);
    assert.deepEqual(rest, {
      ...own,
      description: null,
      params: null,
      schedule_kind: 'manual',
      schedule_cron: null,
      delete_after_run: true,
      parent_id: 'parent-id',
    });
  }
});

test('a child may ask for less than its parent has, and may repeat what it has', () => {
  const less = {
    priority: -1,
    max_retries: 0,
    run_timeout_ms: 1_000,
    payload_timeout_seconds: 5,
    delivery_mode: 'none',
    approval_required: true,
  };
  const spec = made({ ...WORDS, ...less }, parentOf(NEEDING_APPROVAL));
  const shown = toSnake(spec);
  for (const [name, value] of Object.entries(less)) assert.equal(shown[name], value);
  const same = { agent_id: 'main', session_target: 'isolated', delivery_to: '@ops', delete_after_run: true };
  made({ ...WORDS, ...same, enabled: true }, parentOf(NEEDING_APPROVAL));
  assert.equal(made({ ...WORDS, approval_required: true }, parentOf({})).approvalRequired, true);
});
