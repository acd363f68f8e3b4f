import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { httpClient } from '../support/http.ts';
import { checked } from '../http/description.ts';
import { createJob, expectRefusal, expectStatus, readJob } from './spine-cases.ts';
import {
  type Body,
  claim,
  complete,
  queueSchedule,
  readRun,
  runNow,
  runsOf,
  runWell,
  sharedScheduler,
  type StartScheduler,
  until,
  untilStatus,
} from './scheduler-cases.ts';

export function approvalCases(start: StartScheduler): void {
  suite('approvals', () => {
    const server = sharedScheduler(start);
    const approval = async (id: string): Promise<Body> =>
      expectStatus(await server().head.get(`/approvals/${id}`), 200);
    const needingApproval = (fields: object = {}) =>
      queueSchedule(server(), { approval_required: true, overlap_policy: 'allow', ...fields });
    const pending = async (): Promise<Body[]> =>
      expectStatus(
        await server().head.get<{ approvals: Body[] }>('/approvals?status=pending&limit=1000'),
        200,
      ).approvals;

    test('[SC-52] [SC-55] a child that needs approval waits for a word; yes lets it run at once, no cancels it with the reason', async () => {
      const parent = await queueSchedule(server());
      const child = await needingApproval({ parent_id: parent.id, trigger_on: 'success' });
      const waiting = async (): Promise<string> => {
        const before = (await runsOf(server(), child.id)).length;
        await runWell(server(), parent);
        const runs = await until(
          () => runsOf(server(), child.id),
          (seen) => seen.length > before,
          'the child did not come up for approval',
        );
        strictEqual(runs[0]?.status, 'awaiting_approval');
        return runs[0]?.id ?? '';
      };
      const first = await waiting();
      expectRefusal(await server().left.post(`/jobs/${first}/claim`), 409, 'not_ready');
      const asked = await approval(first);
      deepStrictEqual(
        [asked['status'], asked['job_id'], asked['run_id'], asked['auto'], asked['timeout_s']],
        ['pending', child.id, first, 'reject', 3_600],
      );
      const approved = expectStatus(
        await server().head.post(`/approvals/${first}/approve`, { by: 'operator', hash: asked['hash'] }),
        200,
      );
      deepStrictEqual([approved['status'], approved['resolved_by']], ['approved', 'operator']);
      const job = await claim(server(), child.type);
      strictEqual(job.id, first);
      strictEqual(job['approval'], 'given');
      await complete(server(), job);
      strictEqual((await untilStatus(server(), first, 'ok'))['triggered_by_run'] !== null, true);
      const second = await waiting();
      const rejected = expectStatus(
        await server().head.post(`/schedules/${child.id}/reject`, { reason: 'not on Friday' }),
        200,
      );
      deepStrictEqual(
        [rejected['id'], rejected['status'], rejected['resolved_by'], rejected['notes']],
        [second, 'rejected', 'api', 'not on Friday'],
      );
      const run = await readRun(server().head, second);
      deepStrictEqual([run.status, run['error_message']], ['cancelled', 'not on Friday']);
      expectRefusal(await server().head.post(`/schedules/${child.id}/approve`), 409, 'conflict');
    });

    test('[SC-58] an approval is pending, then approved, rejected or timed out, by operator, api or the clock', async () => {
      const yes = await needingApproval({ approval_timeout_s: 1, approval_auto: 'approve' });
      const no = await needingApproval({ approval_timeout_s: 1, approval_auto: 'reject' });
      const [late, never] = [await runNow(server(), yes.id), await runNow(server(), no.id)];
      const job = await claim(server(), yes.type);
      strictEqual(job.id, late);
      await complete(server(), job);
      const byClock = await approval(late);
      deepStrictEqual([byClock['status'], byClock['resolved_by']], ['approved', 'timeout']);
      await untilStatus(server(), never, 'cancelled');
      const timedOut = await approval(never);
      deepStrictEqual([timedOut['status'], timedOut['resolved_by']], ['timed_out', 'timeout']);
      strictEqual((await runsOf(server(), yes.id)).length, 1);
      for (const status of ['approved', 'timed_out']) {
        const { body } = await server().head.get<{ approvals: Body[] }>(`/approvals?status=${status}`);
        ok(body.approvals.length > 0 && body.approvals.every((each) => each['status'] === status));
      }
      const answer = await server().head.post(`/approvals/${never}/approve`);
      expectRefusal(answer, 409, 'conflict', { status: 'timed_out', resolved_by: 'timeout' });
      match(String(answer.body['message']), /timed_out by timeout/);
      expectRefusal(await server().head.get('/approvals?status=maybe'), 400, 'bad_request', {
        field: 'status',
      });
    });

    test('after thirty refusals the next one is still asked for', async () => {
      const schedule = await needingApproval();
      for (let n = 0; n < 31; n++) {
        const id = await runNow(server(), schedule.id);
        strictEqual((await approval(id))['status'], 'pending');
        expectStatus(await server().head.post(`/approvals/${id}/reject`), 200);
      }
      ok((await pending()).every((one) => one['job_id'] !== schedule.id));
    });

    test('of two approvers, a refusal and the clock at once exactly one is heard, and it runs at most once', async () => {
      for (let n = 0; n < 5; n++) {
        const schedule = await needingApproval({ approval_timeout_s: 1, approval_auto: 'approve' });
        const id = await runNow(server(), schedule.id);
        const due = Date.parse(String((await approval(id))['expires_at']));
        await until(
          async () => Date.now(),
          (now) => now >= due - 15,
          'the time did not come',
        );
        const answers = await Promise.all(
          ['approve', 'reject', 'approve'].map((verb) => server().head.post(`/approvals/${id}/${verb}`)),
        );
        const heard = answers.filter(({ status }) => status === 200);
        ok(heard.length <= 1 && answers.every(({ status }) => status === 200 || status === 409));
        const { status, resolved_by: by } = await until(
          () => approval(id),
          (seen) => seen['status'] !== 'pending',
          'nobody was heard',
        );
        strictEqual(by, heard.length === 1 ? 'api' : 'timeout');
        const run = await readRun(server().head, id);
        strictEqual(run.status, status === 'approved' ? 'pending' : 'cancelled');
        strictEqual((await runsOf(server(), schedule.id)).length, 1);
      }
    });

    test('only head gives its word: no worker, no viewer, and no run for itself', async () => {
      const schedule = await needingApproval();
      const id = await runNow(server(), schedule.id);
      const other = await queueSchedule(server());
      await runNow(server(), other.id);
      const held = await claim(server(), other.type);
      const made = await server().head.post<{ token: string }>('/tokens', { name: 'eyes', role: 'viewer' });
      for (const token of [server().tokens.left, made.body.token, `run.${held.id}.${held.leaseToken}`]) {
        const client = checked(httpClient(server().url, { token }));
        for (const path of [`/approvals/${id}`, `/schedules/${schedule.id}`])
          for (const verb of ['approve', 'reject'])
            expectRefusal(await client.post(`${path}/${verb}`), 403, 'wrong_role');
        client.close();
      }
      strictEqual((await approval(id))['status'], 'pending');
      await complete(server(), held);
    });

    test('an approval is for what was seen: another hash is refused, and nothing changes', async () => {
      const schedule = await needingApproval();
      const id = await runNow(server(), schedule.id);
      const { hash } = await approval(id);
      const answer = await server().head.post(`/approvals/${id}/approve`, { hash: 'f'.repeat(64) });
      expectRefusal(answer, 409, 'conflict', { hash });
      for (const [body, field] of [
        [{ hash: 'short' }, 'hash'],
        [{ by: 'nobody' }, 'by'],
        [{ reason: 1 }, 'reason'],
        [{ yes: true }, 'yes'],
      ] as const)
        expectRefusal(await server().head.post(`/approvals/${id}/approve`, body), 400, 'bad_request', {
          field,
        });
      strictEqual((await approval(id))['status'], 'pending');
      for (const none of ['nothing', 'ffffffff', '0']) {
        expectRefusal(await server().head.get(`/approvals/${none}`), 404, 'not_found');
        expectRefusal(await server().head.post(`/approvals/${none}/approve`), 404, 'not_found');
      }
    });

    test('any job can need approval, and shows how it stands', async () => {
      const sent = { target: 'any', type: 'approved-first', approval: { timeoutS: 60, auto: 'approve' } };
      const job = await createJob(server().head, sent);
      deepStrictEqual([job.state, job['approval'], job.status], ['awaiting_approval', 'needed', 'queued']);
      const asked = await approval(job.id);
      deepStrictEqual([asked['job_id'], asked['timeout_s'], asked['auto']], [null, 60, 'approve']);
      expectStatus(await server().head.post(`/approvals/${job.id}/approve`), 200);
      const given = await readJob(server().head, job.id);
      deepStrictEqual([given.state, given['approval']], ['queued', 'given']);
      const plain = await createJob(server().head, {});
      strictEqual(plain['approval'], undefined);
      expectRefusal(await server().head.get(`/approvals/${plain.id}`), 404, 'not_found');
      for (const [approval_, field] of [
        [{ timeoutS: 0 }, 'approval.timeoutS'],
        [{ auto: 'maybe' }, 'approval.auto'],
        [true, 'approval'],
      ] as const)
        expectRefusal(await server().head.post('/jobs', { approval: approval_ }), 400, 'bad_request', {
          field,
        });
    });
  });
}
