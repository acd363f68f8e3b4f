import { match, ok, strictEqual } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { suite, test, type TestContext } from 'node:test';
import { until } from '../support/clock.ts';
import { program } from '../support/debian.ts';
import type { JobBody } from '../support/http.ts';
import { otlpReceiver } from '../support/otlp.ts';
import { startServer } from '../support/server.ts';
import { openServer } from './server.ts';

/** Prometheus' own judge has nothing to say of them. */
async function judged(t: TestContext, text: string): Promise<void> {
  const tool = await program('promtool', { of: 'prometheus' });
  if ('missing' in tool) return t.skip(tool.missing);
  const { status, stdout, stderr } = spawnSync(tool.path, ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  strictEqual(status, 0, `${stdout}${stderr}`);
  strictEqual(`${stdout}${stderr}`.trim(), '');
}

suite('the numbers for Prometheus', () => {
  test('count what was done, and how long it took [WK-39]', async (t) => {
    const { head, left, anyone } = await openServer(t);
    for (let i = 0; i < 3; i++) await head.post('/jobs', {});
    const { body: job } = await head.post<{ id: string }>('/jobs', {});
    const { body: held } = await left.post<{ leaseToken: string }>(`/jobs/${job.id}/claim`);
    await left.post(`/jobs/${job.id}/complete`, { leaseToken: held.leaseToken });
    const stale = await left.post(`/jobs/${job.id}/heartbeat`, { leaseToken: held.leaseToken });
    strictEqual(stale.status, 409);
    await anyone.get('/no/such/path/secret-in-a-path?token=secret-in-a-query');
    const { text } = await head.get('/metrics');
    for (const line of [
      'spine_jobs_created_total 4',
      'spine_jobs_claimed_total 1',
      'spine_jobs_completed_total 1',
      'spine_jobs_failed_total 0',
      'spine_jobs_dead_total 0',
      'spine_leases_expired_total 0',
      'spine_stale_writes_refused_total 1',
      'spine_job_queue_wait_seconds_count{target="left-claw"} 1',
      'spine_job_run_seconds_count{target="left-claw"} 1',
      'spine_http_request_seconds_count{method="POST",route="/jobs/:id/claim"} 1',
      'spine_feed_lag_seconds 0',
      'process_start_time_seconds 1',
    ])
      ok(text.includes(`\n${line}\n`), `${line}\n${text}`);
    match(text, /^spine_oldest_ready_age_seconds \d/m);
    match(text, /^process_cpu_seconds_total \d/m);
    match(text, /^spine_commit_seconds_sum \d/m);
    match(text, /^spine_commit_commands_bucket\{le="\+Inf"\} \d+$/m);
    // Paths and queries are the callers', and may hold anything.
    ok(!text.includes('secret-in') && text.includes('route="(none)"'));
  });

  test('stay bounded, however many targets callers name, and lose no job of them', async (t) => {
    const { head } = await openServer(t);
    for (let batch = 0; batch < 2; batch++) {
      const jobs = Array.from({ length: 250 }, (_, i) => ({ target: `t-${batch}-${i}` }));
      strictEqual((await head.post('/jobs/batch', { jobs })).status, 201);
    }
    const { text } = await head.get('/metrics');
    const depths = [...text.matchAll(/^spine_jobs\{target="([^"]+)",state="queued"\} (\d+)$/gm)];
    strictEqual(depths.length, 101);
    strictEqual(
      depths.reduce((sum, [, , n]) => sum + Number(n), 0),
      500,
    );
    ok(depths.some(([, target, n]) => target === '(others)' && n === '400'));
  });

  test('are those that promtool takes without a complaint [WK-39]', async (t) => {
    const { head, left } = await openServer(t);
    const { body: job } = await head.post<{ id: string }>('/jobs', {
      target: 'a"b\\c'.replace(/[^a-c]/g, ''),
    });
    await left.post(`/jobs/${job.id}/claim`);
    await left.post('/jobs/claim', {});
    await head.get('/metrics');
    const { text } = await head.get('/metrics');
    await judged(t, text);
  });

  test('count what went wrong, who works and what was sent, all of which promtool takes [WK-39]', async (t) => {
    await using collector = await otlpReceiver();
    await using server = await startServer({
      reaperIntervalMs: 50,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    });
    const { head, left } = server;
    const held = async (draft: object): Promise<JobBody> => {
      const { body } = await head.post<JobBody>('/jobs', draft);
      return (await left.post<JobBody>(`/jobs/${body.id}/claim`)).body;
    };
    const endOf = async ({ id }: JobBody): Promise<unknown> =>
      (await head.get<JobBody>(`/jobs/${id}?wait=20s`)).body['state'];

    const failing = await held({ maxAttempts: 1 });
    await left.post(`/jobs/${failing.id}/fail`, { leaseToken: failing.leaseToken, error: 'x' });
    const [silent, slow] = [
      await held({ maxAttempts: 1, leaseMs: 100 }),
      await held({ maxAttempts: 1, timeoutMs: 100 }),
    ];
    for (const job of [failing, silent, slow]) strictEqual(await endOf(job), 'dead');
    for (const verb of ['complete', 'heartbeat'])
      strictEqual(
        (await left.post(`/jobs/${silent.id}/${verb}`, { leaseToken: silent.leaseToken })).status,
        409,
      );
    const start = { slot: 'left-claw', instance: 'a' };
    strictEqual((await left.post('/api/heartbeats/start', start)).status, 200);
    await until('spans are taken', async () =>
      /^spine_spans_sent_total [1-9]/m.test((await head.get('/metrics')).text),
    );

    const { text } = await head.get('/metrics');
    for (const line of [
      'spine_jobs_created_total 3',
      'spine_jobs_claimed_total 3',
      'spine_jobs_completed_total 0',
      'spine_jobs_failed_total 1',
      'spine_jobs_dead_total 3',
      'spine_jobs_timeouts_total 1',
      'spine_leases_expired_total 1',
      'spine_stale_writes_refused_total 2',
      'spine_job_run_seconds_count{target="left-claw"} 3',
      'spine_worker_up{slot="left-claw"} 1',
      'spine_worker_working{slot="left-claw"} 0',
      'spine_spans_dropped_total 0',
    ])
      ok(text.includes(`\n${line}\n`), `${line}\n${text}`);
    match(text, /^spine_loop_runs_total\{loop="reaper"\} [1-9]/m);
    await judged(t, text);
  });

  test('are not there where nothing is counted', async (t) => {
    const { head } = await openServer(t, () => ({ metrics: false }));
    strictEqual((await head.get('/metrics')).status, 404);
  });
});
