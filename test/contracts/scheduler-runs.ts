import { deepStrictEqual, match, notStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { httpClient } from '../support/http.ts';
import { checked } from '../http/description.ts';
import { expectRefusal, expectStatus } from './spine-cases.ts';
import {
  type Body,
  claim,
  complete,
  expectIds,
  fail,
  queueSchedule,
  readRun,
  readSchedule,
  type RunBody,
  runNow,
  runsOf,
  runWell,
  sharedScheduler,
  type StartScheduler,
  until,
  untilStatus,
} from './scheduler-cases.ts';

export function runCases(start: StartScheduler): void {
  suite('runs', () => {
    const server = sharedScheduler(start);
    const list = async (query = ''): Promise<RunBody[]> =>
      expectStatus(await server().head.get<{ runs: RunBody[] }>(`/runs${query}`), 200).runs;

    test('[SC-21] the history says how each run ended, how long it took, what it said and what went wrong', async () => {
      const schedule = await queueSchedule(server(), { overlap_policy: 'allow' });
      const ids: Record<string, string> = {};
      const result = { text: 'Line one\nline two', usage: { total_tokens: 12 } };
      ids['ok'] = await runWell(server(), schedule, result);
      await runNow(server(), schedule.id);
      const broken = await claim(server(), schedule.type);
      await fail(server(), broken, { error: { message: 'no network', code: 7 } });
      ids['error'] = broken.id;
      ids['cancelled'] = await runNow(server(), schedule.id);
      const end = await server().head.post(`/runs/${ids['cancelled']}/cancel`, { reason: 'not needed' });
      strictEqual(expectStatus(end, 200)['status'], 'cancelled');
      const short = await queueSchedule(server(), { run_timeout_ms: 50 });
      await runNow(server(), short.id);
      ids['timeout'] = (await claim(server(), short.type)).id;
      await untilStatus(server(), ids['timeout'], 'timeout');
      const needingApproval = await queueSchedule(server(), { approval_required: true });
      ids['awaiting_approval'] = await runNow(server(), needingApproval.id);
      const second = expectStatus(await server().head.post(`/schedules/${needingApproval.id}/run`), 202);
      ids['skipped'] = String(second['run_id']);
      for (const [status, id] of Object.entries(ids)) {
        strictEqual((await readRun(server().head, id)).status, status);
        const found = (await list(`?status=${status}&limit=1000`)).map((run) => run.id);
        ok(found.includes(id), `${status} lists ${found.join()}`);
        for (const [other, otherId] of Object.entries(ids))
          if (other !== status) ok(!found.includes(otherId), `${status} lists a run that is ${other}`);
      }
      const good = await readRun(server().head, ids['ok']);
      deepStrictEqual(
        [good['output'], good['summary'], good['usage'], good['error_message']],
        ['Line one\nline two', 'Line one line two', { total_tokens: 12 }, null],
      );
      const took = Date.parse(String(good['finished_at'])) - Date.parse(String(good['started_at']));
      strictEqual(good['duration_ms'], took);
      strictEqual((await readRun(server().head, ids['error']))['error_message'], 'no network');
      const cancelled = await readRun(server().head, ids['cancelled']);
      deepStrictEqual([cancelled['reason'], cancelled['error_message']], ['not needed', 'not needed']);
      expectRefusal(await server().head.post(`/runs/${ids['ok']}/cancel`), 409, 'conflict');
      expectRefusal(await server().head.get('/runs?status=nonsense'), 400, 'bad_request', {
        field: 'status',
      });
    });

    test('[SC-79] a run names its last sign of life, the run that triggered it, and what it retries or replays', async () => {
      const parent = await queueSchedule(server(), { max_retries: 1, delivery_guarantee: 'at-least-once' });
      const child = await queueSchedule(server(), { parent_id: parent.id, trigger_on: 'complete' });
      await runNow(server(), parent.id);
      const first = await claim(server(), parent.type);
      const held = await readRun(server().head, first.id);
      notStrictEqual(held['last_heartbeat'], null);
      await fail(server(), first, { error: 'it died', cause: 'crashed' });
      const again = await claim(server(), parent.type);
      const replay = await readRun(server().head, again.id);
      deepStrictEqual(
        [replay.kind, replay['replay_of'], replay['retry_of'], replay['retry_count']],
        ['replay', first.id, null, 0],
      );
      await fail(server(), again, { error: 'wrong' });
      const [retry] = await until(
        () => runsOf(server(), parent.id),
        (runs) => runs.length === 3,
        'no retry was made',
      );
      deepStrictEqual(
        [retry?.kind, retry?.['retry_of'], retry?.['replay_of'], retry?.['retry_count'], retry?.status],
        ['retry', again.id, null, 1, 'pending'],
      );
      expectStatus(await server().head.post(`/runs/${retry?.id}/cancel`), 200);
      strictEqual((await runsOf(server(), child.id)).length, 0);
      await runWell(server(), parent);
      const link = await claim(server(), child.type);
      await complete(server(), link);
      const chained = await readRun(server().head, link.id);
      strictEqual(chained['triggered_by_run'], (await runsOf(server(), parent.id))[0]?.id);
      const context = chained['context_summary'] as Body;
      deepStrictEqual(
        [context['triggered_by_run'], context['parent_status'], context['retrieval_results']],
        [chained['triggered_by_run'], 'ok', 0],
      );
      strictEqual(chained['prompt_hash'], null);
      expectRefusal(await server().head.get(`/runs/${link.id}/prompt`), 404, 'not_found');
    });

    test('lists come newest first and in pages, of all schedules or of one', async () => {
      const schedule = await queueSchedule(server(), { overlap_policy: 'allow' });
      const ids: string[] = [];
      for (let n = 0; n < 5; n++) ids.unshift(await runNow(server(), schedule.id));
      const seen: RunBody[] = [];
      for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
        const page: { runs: RunBody[]; next_before: number | null } = expectStatus(
          await server().head.get<{ runs: RunBody[]; next_before: number | null }>(
            `/schedules/${schedule.id}/runs?limit=2&before=${before}`,
          ),
          200,
        );
        seen.push(...page.runs);
        before = page.next_before;
      }
      expectIds(seen, ids);
      expectIds(await list('?limit=5'), ids);
    });

    test('a long output is cut in lists and whole in the run itself', async () => {
      const schedule = await queueSchedule(server());
      const id = await runWell(server(), schedule, 'ö'.repeat(10_000));
      strictEqual(String((await readRun(server().head, id))['output']).length, 10_000);
      strictEqual(String((await runsOf(server(), schedule.id))[0]?.['output']).length, 2_001);
    });

    test('stale runs are those that showed no life for so long', async () => {
      const schedule = await queueSchedule(server());
      await runNow(server(), schedule.id);
      const job = await claim(server(), schedule.type);
      const stale = async (query: string): Promise<string[]> =>
        expectStatus(await server().head.get<{ runs: RunBody[] }>(`/runs/stale${query}`), 200).runs.map(
          ({ id }) => id,
        );
      ok(!(await stale('')).includes(job.id));
      await until(
        () => stale('?threshold_s=1'),
        (ids) => ids.includes(job.id),
        'the silent run is not stale',
      );
      // A look that comes late after a heartbeat sees it stale again.
      await until(
        async () => {
          await server().left.post(`/jobs/${job.id}/heartbeat`, { leaseToken: job.leaseToken });
          return stale('?threshold_s=1');
        },
        (ids) => !ids.includes(job.id),
        'a run that was heard from stays stale',
      );
      await complete(server(), job);
      expectRefusal(await server().head.get('/runs/stale?threshold_s=0'), 400, 'bad_request', {
        field: 'threshold_s',
      });
    });

    test('a worker reads the runs of its own targets, a viewer all, and neither changes anything', async () => {
      const schedule = await queueSchedule(server(), { target: 'right-claw' });
      const hidden = await runNow(server(), schedule.id);
      const open = await queueSchedule(server());
      const shown = await runNow(server(), open.id);
      const ids = expectStatus(await server().left.get<{ runs: RunBody[] }>('/runs'), 200).runs.map(
        ({ id }) => id,
      );
      ok(ids.includes(shown) && !ids.includes(hidden));
      expectRefusal(await server().left.get(`/runs/${hidden}`), 403, 'forbidden');
      strictEqual((await readRun(server().left, shown)).id, shown);
      const made = await server().head.post<{ token: string }>('/tokens', {
        name: 'watcher',
        role: 'viewer',
      });
      const viewer = checked(httpClient(server().url, { token: made.body.token }));
      try {
        strictEqual((await readRun(viewer, hidden)).id, hidden);
        expectStatus(await viewer.get('/schedules'), 200);
        expectStatus(await viewer.get('/approvals'), 200);
        for (const client of [viewer, server().left]) {
          expectRefusal(await client.post('/schedules', { name: 'x' }), 403, 'wrong_role');
          expectRefusal(await client.post(`/schedules/${open.id}/run`), 403, 'wrong_role');
          expectRefusal(await client.post(`/runs/${shown}/cancel`), 403, 'wrong_role');
          expectRefusal(await client.request('DELETE', `/schedules/${open.id}`), 403, 'wrong_role');
        }
        expectRefusal(await server().left.get('/schedules'), 403, 'wrong_role');
      } finally {
        viewer.close();
      }
      for (const id of ['nothing', '0', 'ffffffff'])
        expectRefusal(await server().head.get(`/runs/${id}`), 404, 'not_found');
      const plain = expectStatus(await server().head.post<RunBody>('/jobs', { spec: 'no run' }), 201);
      expectRefusal(await server().head.get(`/runs/${plain.id}`), 404, 'not_found');
      expectRefusal(await server().head.post(`/runs/${plain.id}/cancel`), 404, 'not_found');
    });
  });

  suite('the tables of the text', () => {
    const server = sharedScheduler(start);

    test('[SC-22] [SC-76] can be asked with SQL, and say the same as the door', async () => {
      const schedule = await queueSchedule(server(), { schedule: '0 2 * * *', max_retries: 2 });
      const ok_ = await runWell(server(), schedule, { text: 'fine', usage: { total_tokens: 1 } });
      await runNow(server(), schedule.id);
      const failing = await claim(server(), schedule.type);
      await fail(server(), failing, { error: 'broken' });
      const needingApproval = await queueSchedule(server(), { approval_required: true });
      const waiting = await runNow(server(), needingApproval.id);
      await server().head.post(`/approvals/${waiting}/reject`, { reason: 'no' });
      const sent = await server().head.post<RunBody>('/messages', { kind: 'spawn', body: 'no JSON' });
      await until(
        async () => (await server().head.get(`/messages/${sent.body.id}`)).body['status'],
        (status) => status === 'failed',
        'the message was not looked at',
      );
      const shown = await readSchedule(server(), schedule.id);
      const [job] = await server().query(`select * from jobs where id = '${schedule.id}'`);
      for (const name of ['name', 'schedule_cron', 'schedule_tz', 'last_status'])
        strictEqual(job?.[name], shown[name], name);
      for (const name of ['next_run_at', 'last_run_at'])
        strictEqual(secondOf(job?.[name]), secondOf(shown[name]), name);
      strictEqual(Number(job?.['max_retries']), 2);
      const runs = await server().query(
        `select * from runs where job_id = '${schedule.id}' order by created_at`,
      );
      deepStrictEqual(
        runs.map(({ status }) => status),
        ['ok', 'error', 'pending'],
      );
      const viewed = await readRun(server().head, ok_);
      for (const name of ['id', 'status', 'summary', 'session_key', 'retry_of', 'kind'])
        strictEqual(runs[0]?.[name], viewed[name], name);
      for (const name of ['started_at', 'finished_at'] as const)
        strictEqual(secondOf(runs[0]?.[name]), secondOf(viewed[name]), name);
      strictEqual(Number(runs[0]?.['duration_ms']), viewed['duration_ms']);
      const told = await server().query(`select * from events where job_id = '${ok_}' order by seq`);
      const { events } = expectStatus(
        await server().head.get<{ events: Body[] }>(`/jobs/${ok_}/events`),
        200,
      );
      deepStrictEqual(
        told.map(({ seq, kind, by }) => [Number(seq), kind, by]),
        events.map(({ seq, type, by }) => [seq, type, by]),
      );
      strictEqual(runs[2]?.['retry_of'], failing.id);
      const [approval] = await server().query(
        `select * from approvals where job_id = '${needingApproval.id}'`,
      );
      deepStrictEqual(
        [approval?.['status'], approval?.['run_id'], approval?.['resolved_by'], approval?.['notes']],
        ['rejected', waiting, 'api', 'no'],
      );
      const [message] = await server().query(`select * from messages where id = '${sent.body.id}'`);
      deepStrictEqual([message?.['kind'], message?.['status']], ['spawn', 'failed']);
      deepStrictEqual(
        await server()
          .query('select id from agents order by id')
          .then((rows) => rows.map(({ id }) => id)),
        ['left-claw', 'right-claw'],
      );
      deepStrictEqual(await server().query('select * from delivery_aliases'), []);
      const migrations = await server().query('select name from schema_migrations order by version');
      ok(
        migrations.some(({ name }) => name === 'baseline'),
        JSON.stringify(migrations),
      );
    });
  });

  suite('messages', () => {
    const server = sharedScheduler(start);
    const message = async (id: string): Promise<Body> =>
      expectStatus(await server().head.get(`/messages/${id}`), 200);

    test('a run spawns a child in its own name, which runs at once and is gone after it was ok', async () => {
      const schedule = await queueSchedule(server());
      await runNow(server(), schedule.id);
      const job = await claim(server(), schedule.type);
      const run = checked(httpClient(server().url, { token: `run.${job.id}.${job.leaseToken}` }));
      try {
        const body = { name: 'Child', payload_message: 'look' };
        const sent = expectStatus(await run.post<RunBody>('/messages', { kind: 'spawn', body }), 201);
        const child = await claim(server(), schedule.type);
        strictEqual((await readRun(server().head, child.id)).kind, 'spawn');
        const { job_id: childId } = await readRun(server().head, child.id);
        deepStrictEqual(
          [(await readSchedule(server(), childId))['parent_id'], (await message(sent.id))['status']],
          [schedule.id, 'delivered'],
        );
        strictEqual((await readSchedule(server(), childId))['spawned_by'], sent.id);
        await complete(server(), child);
        await until(
          async () => (await server().head.get(`/schedules/${childId}`)).status,
          (status) => status === 404,
          'the child is still there',
        );
        strictEqual((await readRun(server().head, child.id)).status, 'ok');
        const own = expectStatus(await run.get(`/messages/${sent.id}`), 200);
        strictEqual(own['id'], sent.id);
        for (const wrong of [
          { kind: 'spawn', body, from_agent: 'head' },
          { kind: 'text', body: 'hello' },
          { kind: 'spawn' },
        ])
          expectRefusal(await run.post('/messages', wrong), 400, 'bad_request');
        const other = await queueSchedule(server());
        const forged = await run.post('/messages', { kind: 'spawn', body, job_id: other.id });
        expectRefusal(forged, 403, 'forbidden');
        expectRefusal(await run.post(`/approvals/${job.id}/approve`), 403, 'wrong_role');
      } finally {
        run.close();
      }
      await complete(server(), job);
    });

    test('one that cannot be done is a failed message that says why, and holds up no other', async () => {
      const wrong: readonly (readonly [unknown, RegExp])[] = [
        ['not JSON', /JSON object/],
        [[1], /JSON object/],
        [{ payload_message: 'x' }, /name/],
        [{ name: 'x', payload_message: 'x', schedule: '99 * * * *' }, /schedule_cron/],
        [{ name: 'x', payload_message: 'x', session_target: 'shell' }, /session_target/],
      ];
      const ids = new Set<string>();
      for (const [body, why] of wrong) {
        const sent = expectStatus(
          await server().head.post<RunBody>('/messages', { kind: 'spawn', body }),
          201,
        );
        const ended = await until(
          () => message(sent.id),
          (seen) => seen['status'] !== 'pending',
          'the message was not looked at',
        );
        strictEqual(ended['status'], 'failed');
        match(String(ended['error']), why);
        ids.add(sent.id);
      }
      const { messages } = expectStatus(
        await server().head.get<{ messages: Body[] }>('/messages?kind=spawn&status=failed&limit=1000'),
        200,
      );
      strictEqual(messages.filter((one) => ids.has(String(one['id']))).length, wrong.length);
      const [kind, none] = [
        await server().head.post('/messages', { kind: 'text', body: 'hello' }),
        await server().head.post('/messages', { kind: 'spawn', body: {}, job_id: 'ffffff' }),
      ];
      expectRefusal(kind, 400, 'bad_request', { field: 'to_agent' });
      expectRefusal(none, 404, 'not_found');
      expectRefusal(await server().left.post('/messages', { kind: 'spawn', body: {} }), 403, 'forbidden');
      expectRefusal(await server().head.get('/messages/nothing'), 404, 'not_found');
    });
  });
}

/** SQLite's views show UTC to the second, PostgreSQL's a time, the door ISO text. */
function secondOf(time: unknown): number {
  const at =
    time instanceof Date ? time.getTime() : Date.parse(String(time).replace(/^(\S+) (\S+)$/, '$1T$2Z'));
  return Math.floor(at / 1_000);
}
