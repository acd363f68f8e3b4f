import { deepStrictEqual, match, notStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { SCHEDULE_FIELDS } from '../../src/domain/schedule-draft.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectRefusal, expectStatus } from './spine-cases.ts';
import {
  type Body,
  claim,
  complete,
  expectIds,
  patch,
  queueSchedule,
  readSchedule,
  runNow,
  runsOf,
  runWell,
  type ScheduleBody,
  sharedScheduler,
  type StartScheduler,
  until,
} from './scheduler-cases.ts';

export function scheduleCases(start: StartScheduler): void {
  suite('making a schedule', () => {
    const server = sharedScheduler(start);
    const list = async (query = ''): Promise<ScheduleBody[]> =>
      expectStatus(await server().head.get<{ schedules: ScheduleBody[] }>(`/schedules${query}`), 200)
        .schedules;

    test("[SC-77] [SC-78] the text's example is accepted, and every default is filled in", async () => {
      const sent = {
        name: 'Nightly backup check',
        delivery_guarantee: 'at-least-once',
        schedule: '0 2 * * *',
        payload_message: 'Check the backup',
      };
      const made = expectStatus(await server().head.post<ScheduleBody>('/schedules', sent), 201);
      const { next_run_at: next } = made;
      match(next ?? '', /T02:00:00\.000Z$/);
      ok(Date.parse(next ?? '') - Date.now() <= 86_400_000);
      const expected = {
        name: sent.name,
        enabled: true,
        schedule_cron: '0 2 * * *',
        schedule_tz: 'UTC',
        session_target: 'isolated',
        agent_id: 'main',
        payload_kind: 'agentTurn',
        payload_message: sent.payload_message,
        payload_model: null,
        payload_thinking: null,
        payload_timeout_seconds: 120,
        payload_scope: 'own',
        overlap_policy: 'skip',
        run_timeout_ms: null,
        delivery_mode: 'announce',
        delivery_channel: null,
        delivery_to: null,
        delivery_guarantee: 'at-least-once',
        delete_after_run: false,
        trigger_delay_s: 0,
        max_retries: 0,
        job_class: 'standard',
        approval_required: false,
        approval_timeout_s: 3_600,
        approval_auto: 'reject',
        context_retrieval: 'none',
        context_retrieval_limit: 5,
        max_queued_dispatches: 25,
        max_pending_approvals: 10,
        max_trigger_fanout: 25,
        last_run_at: null,
        last_status: null,
        consecutive_errors: 0,
        queued_count: 0,
        rule: 'Every day at 02:00 UTC',
      };
      deepStrictEqual(only(made, Object.keys(expected)), expected);
      deepStrictEqual(await readSchedule(server(), made.id), made);
    });

    test('the names of the text, camelCase and the synonyms mean the same, and two values for one are refused', async () => {
      const trigger = { name: 'Spelled', payload_message: 'x' };
      for (const spelled of [
        { schedule_cron: '5 4 * * *', schedule_tz: 'Europe/Stockholm' },
        { scheduleCron: '5 4 * * *', scheduleTz: 'Europe/Stockholm' },
        { schedule: '5 4 * * *', timezone: 'Europe/Stockholm' },
      ]) {
        const made = expectStatus(await server().head.post('/schedules', { ...trigger, ...spelled }), 201);
        deepStrictEqual([made['schedule_cron'], made['schedule_tz']], ['5 4 * * *', 'Europe/Stockholm']);
      }
      const both = { ...trigger, schedule: '5 4 * * *', schedule_cron: '6 4 * * *' };
      expectRefusal(await server().head.post('/schedules', both), 400, 'bad_request');
    });

    test('what cannot be is refused in one line that names the field, and nothing is kept', async () => {
      const before = (await list('?limit=1000')).length;
      const good = { name: 'Bad', schedule: '0 2 * * *', payload_message: 'x' };
      const wrong: readonly (readonly [object, string])[] = [
        [{ ...good, schedule: '99 * * * *' }, 'schedule_cron'],
        [{ ...good, schedule: '* * * *' }, 'schedule_cron'],
        [{ ...good, schedule: '' }, 'schedule_cron'],
        [{ ...good, timezone: 'Mars/X' }, 'schedule_tz'],
        [{ ...good, name: undefined }, 'name'],
        [{ ...good, payload_message: undefined }, 'payload_message'],
        [{ ...good, max_retires: 1 }, 'max_retires'],
        [{ ...good, parent_id: 'nothing', trigger_on: 'success' }, 'schedule_cron'],
        [{ ...good, schedule: undefined, parent_id: 'nothing', trigger_on: 'success' }, 'parent_id'],
        [{ ...good, schedule: undefined, schedule_at: '2020-01-01T00:00:00Z' }, 'schedule_at'],
        [{ ...good, session_target: 'shell' }, 'session_target'],
        [{ ...good, next_run_at: '2020-01-01T00:00:00Z' }, 'next_run_at'],
        [{ ...good, last_run_at: '2030-01-01T00:00:00Z' }, 'last_run_at'],
      ];
      for (const [body, field] of wrong) {
        const answer = await server().head.post('/schedules', body);
        expectRefusal(answer, 400, 'bad_request', { field });
        ok(!String(answer.body['message']).includes('\n'), answer.text);
      }
      for (const body of [[], 'text', 1, null, true])
        expectRefusal(await server().head.post('/schedules', body), 400, 'bad_request');
      strictEqual((await list('?limit=1000')).length, before);
    });

    test('nonsense in any field is refused by name or understood, and never breaks the server', async () => {
      const nonsense = [
        null,
        -1,
        0.5,
        1e300,
        '',
        ' ',
        'x'.repeat(100_001),
        '\u0000',
        '\ud800',
        [],
        {},
        true,
        'a b',
      ];
      for (const { name } of SCHEDULE_FIELDS) {
        for (const value of nonsense) {
          const body = { name: 'N', schedule_kind: 'manual', session_target: 'queue', enabled: false };
          const answer = await server().head.post<Body & { id?: string }>('/schedules', {
            ...body,
            [name]: value,
          });
          if (answer.status === 201) await server().head.request('DELETE', `/schedules/${answer.body.id}`);
          else {
            expectRefusal(answer, 400, 'bad_request');
            strictEqual(typeof answer.body['field'], 'string', answer.text);
          }
        }
      }
    });

    test('lists come in pages, and can be of enabled ones only', async () => {
      const first = (await list('?limit=1000')).length;
      const ids: string[] = [];
      for (const enabled of [true, false, true]) ids.push((await queueSchedule(server(), { enabled })).id);
      const seen: ScheduleBody[] = [];
      for (let after: number | null = 0; after !== null; ) {
        const { body }: { body: { schedules: ScheduleBody[]; next_after: number | null } } =
          await server().head.get(`/schedules?after=${after}&limit=2`);
        ok(body.schedules.length <= 2);
        seen.push(...body.schedules);
        after = body.next_after;
      }
      strictEqual(seen.length, first + 3);
      expectIds(seen.slice(-3), ids);
      expectIds((await list('?enabled=false&limit=1000')).slice(-1), ids.slice(1, 2));
      const enabled = await list('?enabled=true&limit=1000');
      expectIds(enabled.slice(-2), [ids[0] ?? '', ids[2] ?? '']);
      ok(enabled.every((each) => each.enabled));
      expectRefusal(await server().head.get('/schedules?enabled=maybe'), 400, 'bad_request', {
        field: 'enabled',
      });
      expectRefusal(await server().head.get('/schedules?limit=0'), 400, 'bad_request', { field: 'limit' });
    });

    test('a schedule is found by the beginning of its id, when no other begins so', async () => {
      const { id } = await queueSchedule(server());
      await queueSchedule(server());
      strictEqual((await readSchedule(server(), id.slice(0, 30))).id, id);
      const answer = await server().head.get(`/schedules/${id.slice(0, 4)}`);
      expectRefusal(answer, 409, 'conflict');
      match(String(answer.body['message']), /Several schedules have an id that begins with/);
      for (const none of ['ffff', 'nothing', '%25', '0', 'a'.repeat(99)])
        expectRefusal(await server().head.get(`/schedules/${none}`), 404, 'not_found');
      for (const verb of ['enable', 'disable', 'cancel', 'run', 'approve', 'reject'])
        expectRefusal(await server().head.post(`/schedules/ffffff/${verb}`), 404, 'not_found');
      expectRefusal(await patch(server().head, '/schedules/ffffff', { name: 'x' }), 404, 'not_found');
      expectRefusal(await server().head.request('DELETE', '/schedules/ffffff'), 404, 'not_found');
    });

    test('a preview names the next instants and the rule in words', async () => {
      const { id } = await queueSchedule(server(), { schedule: '0 9 * * 1-5', timezone: 'Europe/Stockholm' });
      const { rule, next_runs } = expectStatus(
        await server().head.get<{ rule: string; next_runs: string[] }>(`/schedules/${id}/preview`),
        200,
      );
      strictEqual(rule, 'Weekdays at 09:00 Europe/Stockholm');
      strictEqual(next_runs.length, 5);
      strictEqual(next_runs[0], (await readSchedule(server(), id)).next_run_at);
      ok(next_runs.every((time) => [7, 8].includes(new Date(time).getUTCHours())));
      const { body } = await server().head.get<{ next_runs: string[] }>(`/schedules/${id}/preview?n=2`);
      strictEqual(body.next_runs.length, 2);
      const manual = await queueSchedule(server());
      const none = await server().head.get<{ next_runs: string[] }>(`/schedules/${manual.id}/preview`);
      deepStrictEqual([none.body.next_runs, none.body], [[], { rule: 'Only by hand', next_runs: [] }]);
    });

    test('a change touches the named fields alone, null brings the default back, and a new rule a new next time', async () => {
      const made = await queueSchedule(server(), { schedule: '0 2 * * *', max_retries: 3, priority: 5 });
      const change = { maxRetries: null, schedule_cron: '30 3 * * *' };
      const changed = expectStatus(await patch(server().head, `/schedules/${made.id}`, change), 200);
      const { updated_at: _, ...rest } = changed;
      const { updated_at: __, ...before } = made;
      deepStrictEqual(rest, {
        ...before,
        // Of a queue with a type, whose own word counts.
        max_retries: null,
        schedule_cron: '30 3 * * *',
        rule: 'Every day at 03:30 UTC',
        next_run_at: changed['next_run_at'],
      });
      match(String(changed['next_run_at']), /T03:30:00\.000Z$/);
      const renamed = expectStatus(await patch(server().head, `/schedules/${made.id}`, { name: 'New' }), 200);
      deepStrictEqual([renamed['name'], renamed['next_run_at']], ['New', changed['next_run_at']]);
      for (const [body, field] of [
        [{ schedule_cron: 'x' }, 'schedule_cron'],
        [{ nmae: 'x' }, 'nmae'],
        [{ name: null }, 'name'],
      ] as const)
        expectRefusal(await patch(server().head, `/schedules/${made.id}`, body), 400, 'bad_request', {
          field,
        });
      deepStrictEqual(await readSchedule(server(), made.id), renamed);
    });

    test('disabled it has no next time, enabled it has one again', async () => {
      const { id } = await queueSchedule(server(), { schedule: '0 2 * * *' });
      const off = expectStatus(await server().head.post(`/schedules/${id}/disable`), 200);
      deepStrictEqual([off['enabled'], off['next_run_at']], [false, null]);
      const on = expectStatus(await server().head.post(`/schedules/${id}/enable`), 200);
      strictEqual(on['enabled'], true);
      notStrictEqual(on['next_run_at'], null);
    });
  });

  suite('firing', () => {
    const server = sharedScheduler(start);

    test('[SC-20] the clock, the end of another run and a message each make a run', async () => {
      const clock = await queueSchedule(server(), { schedule: '* * * * * *' });
      const child = await queueSchedule(server(), { parent_id: clock.id, trigger_on: 'success' });
      const tick = await claim(server(), clock.type);
      expectStatus(await server().head.post(`/schedules/${clock.id}/disable`), 200);
      await complete(server(), tick, 'tock');
      const link = await claim(server(), child.type);
      await complete(server(), link);
      const message = {
        kind: 'spawn',
        body: {
          name: 'Spawned',
          payload_message: 'x',
          session_target: 'queue',
          type: `${child.type}-spawned`,
        },
      };
      expectStatus(await server().head.post('/messages', message), 201);
      const spawned = await claim(server(), `${child.type}-spawned`);
      await complete(server(), spawned);
      const kinds = [];
      for (const { id } of [tick, link, spawned])
        kinds.push(expectStatus(await server().head.get(`/runs/${id}`), 200)['kind']);
      deepStrictEqual(kinds, ['cron', 'chain', 'spawn']);
      const { runs } = expectStatus(await server().head.get<{ runs: Body[] }>('/runs'), 200);
      const chained = runs.find((run) => run['id'] === link.id);
      strictEqual(chained?.['triggered_by_run'], tick.id);
    });

    test('[SC-49] a run by hand starts at once and leaves the next time as it was, also when disabled', async () => {
      const schedule = await queueSchedule(server(), { schedule: '0 2 * * *' });
      const startedMs = performance.now();
      const [runId, job] = await Promise.all([runNow(server(), schedule.id), claim(server(), schedule.type)]);
      ok(performance.now() - startedMs < 20_000);
      strictEqual(job.id, runId);
      await complete(server(), job);
      const now = await until(
        () => readSchedule(server(), schedule.id),
        (seen) => seen['last_status'] === 'ok',
        'the run did not end',
      );
      strictEqual(now.next_run_at, schedule.next_run_at);
      notStrictEqual(now['last_run_at'], null);
      expectStatus(await server().head.post(`/schedules/${schedule.id}/disable`), 200);
      await runWell(server(), schedule);
    });

    test('what did not fire is listed with its reason', async () => {
      const schedule = await queueSchedule(server(), { schedule: '* * * * * *' });
      const job = await claim(server(), schedule.type);
      const failedAt = Date.now();
      await server().left.post(`/jobs/${job.id}/fail`, { error: 'x', leaseToken: job.leaseToken });
      const missed = await until(
        async () =>
          (await server().head.get<{ missed: Body[] }>(`/schedules/${schedule.id}/missed`)).body.missed,
        (rows) => rows.length > 0,
        'nothing was written down',
      );
      match(String(missed[0]?.['reason']), /held back after 1 failures in a row/);
      ok(Number(missed[0]?.['count']) >= 1);
      const { consecutive_errors, next_run_at } = await readSchedule(server(), schedule.id);
      strictEqual(consecutive_errors, 1);
      // By its rule it would be a second away.
      ok(Date.parse(next_run_at ?? '') > failedAt + 29_000, String(next_run_at));
      expectRefusal(await server().head.get('/schedules/ffffff/missed'), 404, 'not_found');
    });

    test('an overlap is skipped and says so, or waits in line', async () => {
      const skips = await queueSchedule(server());
      const first = await runNow(server(), skips.id);
      const second = expectStatus(await server().head.post(`/schedules/${skips.id}/run`), 202);
      deepStrictEqual(
        [second['status'], second['reason']],
        ['skipped', 'the run before it was still under way'],
      );
      expectIds(await runsOf(server(), skips.id), [String(second['run_id']), first]);
      const queues = await queueSchedule(server(), { overlap_policy: 'queue' });
      for (let n = 0; n < 3; n++) await runNow(server(), queues.id);
      strictEqual((await readSchedule(server(), queues.id))['queued_count'], 2);
      for (let n = 0; n < 3; n++) await complete(server(), await claim(server(), queues.type));
      strictEqual((await readSchedule(server(), queues.id))['queued_count'], 0);
    });
  });

  suite('chains', () => {
    const server = sharedScheduler(start);

    test("[SC-35] children fire on their parent's success, failure or end, each only on its own", async () => {
      const parent = await queueSchedule(server());
      const below = async (trigger_on: string) =>
        await queueSchedule(server(), { parent_id: parent.id, trigger_on });
      const [success, failure, complete_] = [
        await below('success'),
        await below('failure'),
        await below('complete'),
      ];
      await runWell(server(), parent);
      for (const child of [success, complete_]) await complete(server(), await claim(server(), child.type));
      strictEqual((await runsOf(server(), failure.id)).length, 0);
      await runNow(server(), parent.id);
      const job = await claim(server(), parent.type);
      await server().left.post(`/jobs/${job.id}/fail`, { error: 'x', leaseToken: job.leaseToken });
      for (const child of [failure, complete_]) await complete(server(), await claim(server(), child.type));
      const counts = [];
      for (const { id } of [success, failure, complete_]) counts.push((await runsOf(server(), id)).length);
      deepStrictEqual(counts, [1, 1, 2]);
    });

    test('[SC-39] what would be too deep or close a circle is refused, and the tree stays as it was', async () => {
      const line = async (length: number) => {
        const ids = [(await queueSchedule(server())).id];
        while (ids.length < length)
          ids.push((await queueSchedule(server(), { parent_id: ids.at(-1), trigger_on: 'success' })).id);
        return ids;
      };
      const long = await line(11);
      const short = await line(6);
      const before = expectStatus(await server().head.get('/schedules/tree'), 200);
      const eleventh = { name: 'x', session_target: 'queue', parent_id: long[10], trigger_on: 'success' };
      expectRefusal(await server().head.post('/schedules', eleventh), 400, 'bad_request', {
        field: 'parent_id',
      });
      const moves: readonly (readonly [string | undefined, string | undefined])[] = [
        [short[0], long[8]],
        [long[0], long[10]],
        [long[3], long[3]],
      ];
      for (const [moved, parent] of moves) {
        const change = { parent_id: parent, trigger_on: 'success' };
        const answer = await patch(server().head, `/schedules/${moved}`, change);
        expectRefusal(answer, 400, 'bad_request', { field: 'parent_id' });
      }
      deepStrictEqual(expectStatus(await server().head.get('/schedules/tree'), 200), before);
      const roots = (before as { schedules?: { id: string }[] }).schedules ?? [];
      deepStrictEqual(
        [long[0], short[0]].every((id) => roots.some((root) => root.id === id)),
        true,
      );
    });

    test('[SC-41] a deleted parent takes its children along at once, and they never fire', async () => {
      const parent = await queueSchedule(server());
      const child = await queueSchedule(server(), { parent_id: parent.id, trigger_on: 'complete' });
      const run = await runNow(server(), parent.id);
      const job = await claim(server(), parent.type);
      const { body } = await server().head.request('DELETE', `/schedules/${parent.id.slice(0, 36)}`);
      deepStrictEqual(body, {
        id: parent.id,
        deleted: true,
        deleted_schedules: [parent.id, child.id],
        cancelled_runs: [run],
      });
      for (const { id } of [parent, child])
        expectRefusal(await server().head.get(`/schedules/${id}`), 404, 'not_found');
      await server().left.post(`/jobs/${job.id}/complete`, { leaseToken: job.leaseToken });
      await sleep(300);
      const waiting = await server().left.post<{ jobs: unknown[] }>('/jobs/claim', { types: [child.type] });
      deepStrictEqual(waiting.body.jobs, []);
      const kept = expectStatus(await server().head.get(`/runs/${run}`), 200);
      deepStrictEqual([kept['job_id'], kept['reason']], [parent.id, 'its schedule was deleted']);
    });

    test('a cancelled chain is disabled, its runs end, and nothing follows; cascade=false spares the children', async () => {
      const parent = await queueSchedule(server(), { schedule: '0 2 * * *' });
      const child = await queueSchedule(server(), { parent_id: parent.id, trigger_on: 'complete' });
      const run = await runNow(server(), child.id);
      const alone = expectStatus(
        await server().head.post(`/schedules/${parent.id}/cancel?cascade=false`),
        200,
      );
      deepStrictEqual(
        [alone['enabled'], alone['next_run_at'], alone['cancelled_schedules'], alone['cancelled_runs']],
        [false, null, [parent.id], []],
      );
      strictEqual((await readSchedule(server(), child.id)).enabled, true);
      const all = expectStatus(await server().head.post(`/schedules/${parent.id}/cancel`), 200);
      deepStrictEqual([all['cancelled_schedules'], all['cancelled_runs']], [[parent.id, child.id], [run]]);
      strictEqual((await readSchedule(server(), child.id)).enabled, false);
      const ended = expectStatus(await server().head.get(`/runs/${run}`), 200);
      deepStrictEqual([ended['status'], ended['error_message']], ['cancelled', 'its schedule was cancelled']);
    });
  });
}

function only(body: Body, names: readonly string[]): Body {
  return Object.fromEntries(names.map((name) => [name, body[name]]));
}
