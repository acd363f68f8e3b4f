import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { SpineApiError, SpineClient } from '../../src/client/index.ts';
import { startServer } from '../support/server.ts';

suite('schedules through the client', () => {
  test('are made, found, changed, run, approved and deleted', async () => {
    await using server = await startServer();
    const client = new SpineClient({ baseUrl: server.url, token: server.tokens.head });
    const report = await client.schedules.create({
      name: 'Report',
      schedule_cron: '0 9 * * 1-5',
      schedule_tz: 'Europe/Stockholm',
      session_target: 'queue',
    });
    strictEqual(report.rule, 'Weekdays at 09:00 Europe/Stockholm');
    const send = await client.schedules.create({
      name: 'Send',
      parent_id: report.id,
      trigger_on: 'success',
      session_target: 'queue',
      approval_required: true,
    });
    const names: string[] = [];
    for await (const { name } of client.schedules.list({ limit: 1 })) names.push(name);
    deepStrictEqual(names, ['Report', 'Send']);
    const [root] = await client.schedules.tree();
    deepStrictEqual([root?.name, root?.children.map(({ name }) => name)], ['Report', ['Send']]);
    strictEqual((await client.schedules.update(report.id, { max_retries: 2 })).max_retries, 2);
    strictEqual((await client.schedules.disable(report.id)).next_run_at, null);
    strictEqual((await client.schedules.enable(report.id)).next_run_at, report.next_run_at);
    strictEqual((await client.schedules.preview(report.id, 3)).next_runs.length, 3);
    deepStrictEqual(await client.schedules.missed(report.id), []);

    const { run_id: id } = await client.schedules.run(report.id);
    strictEqual((await client.runs.get(id)).status, 'pending');
    strictEqual((await client.runs.cancel(id, { reason: 'enough' })).reason, 'enough');
    const { runs, next_before } = await client.schedules.runs(report.id, { limit: 5 });
    deepStrictEqual([runs.map((run) => run.status), next_before], [['cancelled'], null]);
    strictEqual((await client.runs.list({ status: 'cancelled' })).runs.length, 1);
    deepStrictEqual(await client.runs.stale({ threshold_s: 1 }), []);

    const first = await client.schedules.run(send.id);
    const [waiting] = await client.approvals.list({ status: 'pending' });
    strictEqual(waiting?.id, first.run_id);
    const yes = await client.approvals.approve(first.run_id, { hash: waiting.hash, by: 'operator' });
    deepStrictEqual([yes.status, yes.resolved_by], ['approved', 'operator']);
    await rejects(
      client.schedules.reject(send.id),
      (error) => error instanceof SpineApiError && error.code === 'conflict',
    );
    const cancelled = await client.schedules.cancel(report.id, { cascade: false });
    deepStrictEqual(cancelled.cancelled_schedules, [report.id]);
    const deleted = await client.schedules.remove(report.id);
    ok(deleted.deleted && deleted.deleted_schedules.length === 2);
    deepStrictEqual(deleted.cancelled_runs, [first.run_id]);
    await rejects(
      client.schedules.get(report.id),
      (error) => error instanceof SpineApiError && error.status === 404,
    );
    await client.close();
  });
});
