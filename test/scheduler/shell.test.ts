import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { eventually, msBetween, openScene } from './support.ts';

/** Nothing but a wake-up can be so quick: the scheduler looks by itself once a minute. */
const ENV = { SCHEDULER_TICK_MS: '60000', SPINE_WEBHOOK_SECRET: 'very-secret-indeed' };
const AT_ONCE_MS = 8_000;

let scene: Awaited<ReturnType<typeof openScene>>;
before(async () => {
  scene = await openScene({ env: ENV });
});
after(() => scene[Symbol.asyncDispose]());

test('a run by hand starts at once, and leaves the next run where it was [SC-49]', async () => {
  const made = await scene.plan({
    name: 'now',
    session_target: 'shell',
    payload_message: 'true',
    schedule: '0 0 1 1 *',
  });
  const run = await scene.ended(await scene.run(made));
  assert.equal(run.status, 'ok');
  assert.ok(msBetween(run.created_at, run.started_at) < AT_ONCE_MS);
  assert.equal((await scene.schedule(made)).next_run_at, made.next_run_at);
});

test('a chain of four links runs without waiting for a tick, and each run names the one before it [SC-35 SC-13]', async () => {
  const links = [await scene.plan({ name: 'link 0', session_target: 'shell', payload_message: 'echo 0' })];
  for (let i = 1; i < 4; i++)
    links.push(
      await scene.plan({
        name: `link ${i}`,
        parent_id: links.at(-1)?.id,
        trigger_on: 'success',
        session_target: 'shell',
        payload_message: `echo "$SPINE_TRIGGER_OUTPUT"${i}`,
      }),
    );
  const root = await scene.ended(await scene.run(links[0] ?? { id: '' }));
  const last = await eventually('the chain has ended', 10_000, async () => {
    const [run] = await scene.runs(links[3] ?? { id: '' });
    return run?.finished_at ? run : null;
  });
  assert.equal(last.status, 'ok');
  assert.ok(
    msBetween(root.started_at, last.finished_at) < 4 * AT_ONCE_MS,
    `${msBetween(root.started_at, last.finished_at)} ms`,
  );
  for (let i = 1; i < 4; i++) {
    const [run] = await scene.runs(links[i] ?? { id: '' });
    const [before] = await scene.runs(links[i - 1] ?? { id: '' });
    assert.equal(run?.triggered_by_run, before?.id);
  }
});

test('a condition sees the raw output of a command [SC-37]', async () => {
  const parent = await scene.plan({ name: 'parent', session_target: 'shell', payload_message: 'echo OK' });
  const shell = {
    session_target: 'shell',
    payload_message: 'true',
    parent_id: parent.id,
    trigger_on: 'success',
  };
  const fires = await scene.plan({ ...shell, name: 'fires', trigger_condition: 'regex:^OK' });
  const quiet = await scene.plan({ ...shell, name: 'quiet', trigger_condition: 'contains:ok' });
  await scene.run(parent);
  await eventually('the child has run', 5_000, async () =>
    (await scene.runs(fires))[0]?.finished_at ? true : null,
  );
  assert.deepEqual(await scene.runs(quiet), []);
});

test('a command that fails or takes too long says so; what it printed is kept', async () => {
  const failing = await scene.plan({
    name: 'failing',
    session_target: 'shell',
    payload_message: 'echo out; echo err >&2; exit 3',
  });
  const failed = await scene.ended(await scene.run(failing));
  assert.equal(failed.status, 'error');
  assert.match(failed.output ?? '', /out/);
  const slow = await scene.plan({
    name: 'slow',
    session_target: 'shell',
    payload_message: 'sleep 30',
    run_timeout_ms: 500,
  });
  const late = await scene.ended(await scene.run(slow));
  assert.equal(late.status, 'timeout');
  assert.ok((late.duration_ms ?? 0) < 15_000);
});

test('cancelling a parent kills the process of its child, and nothing fires afterwards [SC-40]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-cancel-'));
  try {
    const [began, marker] = [join(folder, 'began'), join(folder, 'done')];
    const parent = await scene.plan({ name: 'parent', session_target: 'shell', payload_message: 'true' });
    const child = await scene.plan({
      name: 'child',
      parent_id: parent.id,
      trigger_on: 'success',
      session_target: 'shell',
      payload_message: `echo $$ > '${began}'; sleep 60; touch '${marker}'`,
    });
    const after = await scene.plan({
      name: 'after',
      parent_id: child.id,
      trigger_on: 'complete',
      session_target: 'shell',
      payload_message: 'true',
    });
    await scene.run(parent);
    const pid = await eventually('the child runs', 20_000, async () =>
      existsSync(began) ? Number(readFileSync(began, 'utf8')) || null : null,
    );
    const [running] = await scene.runs(child);
    await scene.server.head.post(`/schedules/${parent.id}/cancel`, {});
    assert.equal((await scene.ended(running?.id ?? '')).status, 'cancelled');
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    assert.equal(existsSync(marker), false);
    // Time for what would follow its end.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    assert.deepEqual(await scene.runs(after), []);
    for (const each of [parent, child, after]) assert.equal((await scene.schedule(each)).enabled, false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a command never sees the server’s secrets, and may ask for a follow-up in its own name [SC-12 SC-51]', async () => {
  const looking = await scene.plan({ name: 'looking', session_target: 'shell', payload_message: 'env' });
  const { output } = await scene.ended(await scene.run(looking));
  for (const secret of [scene.server.tokens.head, 'token-of-the-stand-in', 'very-secret-indeed'])
    assert.ok(!output?.includes(secret), `the environment holds ${secret}`);
  const asking = await scene.plan({
    name: 'asking',
    session_target: 'shell',
    payload_message: [
      `curl -s -X POST "$SPINE_URL/messages" -H "Authorization: Bearer $SPINE_TOKEN"`,
      `-H 'content-type: application/json' -d '{"kind":"spawn","body":{"name":"follow up","payload_message":"echo spawned"}}'`,
    ].join(' '),
  });
  const parent = await scene.ended(await scene.run(asking));
  assert.equal(parent.status, 'ok', parent.error_message ?? '');
  const spawned = await eventually('the child has run', 5_000, async () => {
    const { body } = await scene.server.head.get<{ runs: { kind: string; output: string | null }[] }>(
      '/runs?limit=50',
    );
    return body.runs.find(({ kind, output }) => kind === 'spawn' && output !== null) ?? null;
  });
  assert.match(spawned.output ?? '', /spawned/);
});

test('a schedule may not be a shell command where shell jobs are off', async () => {
  await using without = await openScene({ env: { SPINE_SHELL: 'off' } });
  const answer = await without.server.head.post<{ message: string }>('/schedules', {
    name: 'no',
    schedule_kind: 'manual',
    session_target: 'shell',
    payload_message: 'true',
  });
  assert.equal(answer.status, 400);
  assert.match(answer.body.message, /SPINE_SHELL/);
});

test('a job that was merely posted never reaches the shell', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-posted-'));
  try {
    const marker = join(folder, 'done');
    const { body } = await scene.server.head.post<{ id: string }>('/jobs', {
      target: 'shell',
      spec: `touch '${marker}'`,
    });
    await eventually('the job was refused', 5_000, async () => {
      const { body: job } = await scene.server.head.get<{ job?: { status: string }; status?: string }>(
        `/jobs/${body.id}`,
      );
      const status = job.job?.status ?? job.status;
      return status === 'failed' || status === 'dead' ? true : null;
    });
    assert.equal(existsSync(marker), false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a run that needs approval starts at once at the word that lets it go [SC-55]', async () => {
  const made = await scene.plan({
    name: 'approved first',
    session_target: 'shell',
    payload_message: 'true',
    approval_required: true,
  });
  const id = await scene.run(made);
  const approvedAt = Date.now();
  const { status } = await scene.server.head.post(`/approvals/${id}/approve`, {});
  assert.equal(status, 200);
  const run = await scene.ended(id);
  assert.equal(run.status, 'ok');
  assert.ok(Date.parse(run.started_at ?? '') - approvedAt < AT_ONCE_MS);
});
