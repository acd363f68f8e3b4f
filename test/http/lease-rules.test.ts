/** A job keeps the lease rule of the door at which it was claimed, whatever goes on at others. One minute takes one second. */

import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { test, type TestContext } from 'node:test';
import { Reaper } from '../../src/loops/reaper.ts';
import { settler } from '../../src/loops/settler.ts';
import { StuckDetector } from '../../src/loops/stuck-detector.ts';
import { openClient } from '../mcp/support.ts';
import { FakeClock } from '../support/clock.ts';
import { loggedIn } from './bots.ts';
import { openServer } from './server.ts';

const MINUTE_MS = 1_000;
const TICK_MS = 100;
const WATCHED_MINUTES = 40;
const HEAD = { name: 'head', role: 'head', targets: null } as const;
const ENGINE = {
  settings: { leaseMs: 5 * MINUTE_MS, maxAttempts: 5, maxUnfinishedJobs: 1_000 },
  stuck: { runningMs: 15 * MINUTE_MS, offlineMs: 10 * MINUTE_MS, limitMs: 86_400_000 },
  workers: {
    staleMs: 90_000,
    onlineMs: 5 * MINUTE_MS,
    botTasks: 200,
    sessionTimeoutMs: 30 * MINUTE_MS,
    sessionTimeoutMaxMs: 120 * MINUTE_MS,
    sessions: false,
    heartbeatsFile: null,
  },
};

type Rule = 'own' | 'presence';
/** What the holder does meanwhile: nothing, other calls at its door, or what the door has to keep the job. */
type Meanwhile = 'is silent' | 'calls' | 'keeps it';

/** In which minute it is taken from its holder, and what becomes of it; null where it stays. */
const RULES: readonly (readonly [
  door: string,
  rule: Rule,
  Meanwhile,
  lost: readonly [number, string] | null,
])[] = [
  ['spine', 'own', 'is silent', [5, 'queued']],
  ['spine', 'own', 'calls', [5, 'queued']],
  ['spine', 'own', 'keeps it', null],
  ['mcp', 'own', 'is silent', [5, 'queued']],
  ['mcp', 'own', 'calls', [5, 'queued']],
  ['mcp', 'own', 'keeps it', null],
  ['bridge', 'own', 'is silent', [30, 'queued']],
  ['bridge', 'own', 'calls', [30, 'queued']],
  ['bots', 'presence', 'is silent', [15, 'failed']],
  ['bots', 'presence', 'calls', null],
  ['bots', 'presence', 'keeps it', null],
];

interface Held {
  readonly id: string;
  readonly calls: () => Promise<unknown>;
  readonly keeps: () => Promise<unknown>;
}

test('a job keeps the lease rule of its door, `presence` or its own [TQ-12 TQ-22]', async (t) => {
  const clock = new FakeClock();
  const spine = await openServer(t, () => ({}), { ...ENGINE, clock });
  const { engine } = spine;
  const claims = await doors(t, spine);
  const rows = [];
  for (const [door, rule, meanwhile, lost] of RULES) {
    const { jobs } = await engine.jobs.create(HEAD, [{ target: 'any', title: door }]);
    const id = jobs[0]?.id ?? '';
    const held = await (claims[door] as (id: string) => Promise<Held>)(id);
    const job = await engine.jobs.get(HEAD, id);
    deepStrictEqual([job.state, job.leasePolicy], ['running', rule], door);
    rows.push({ door, meanwhile, lost, held, seen: null as readonly [number, string] | null });
  }
  const reaper = new Reaper(engine.core, MINUTE_MS);
  const [pulse, watch] = [reaper.pulse(), reaper.watch()];
  const stuck = new StuckDetector({
    core: engine.core,
    everyMs: MINUTE_MS,
    absenceMs: (now) => reaper.absenceMs(now),
  });
  for (let minute = 0; minute <= WATCHED_MINUTES; minute++) {
    for (const row of rows) {
      const { state } = await engine.jobs.get(HEAD, row.held.id);
      if (state !== 'running') row.seen ??= [minute, state];
      else if (row.meanwhile === 'calls') await row.held.calls();
      else if (row.meanwhile === 'keeps it') await row.held.keeps();
    }
    for (let ms = 0; ms < MINUTE_MS; ms += TICK_MS) {
      await clock.advance(TICK_MS);
      await watch.runOnce();
    }
    await pulse.runOnce();
    await reaper.runOnce();
    await stuck.runOnce();
    await settler(engine.core).runOnce();
  }
  for (const { door, meanwhile, lost, seen, held } of rows) {
    const what = `${door}, whose holder ${meanwhile}: ${JSON.stringify(seen)}`;
    strictEqual(seen?.[1], lost?.[1], what);
    // A look comes up to two minutes late.
    if (lost !== null && seen !== null) ok(seen[0] >= lost[0] && seen[0] <= lost[0] + 3, what);
    const job = await engine.jobs.get(HEAD, held.id);
    strictEqual(job.attempts, lost === null ? 1 : job.attempts, what);
  }
});

type Spine = Awaited<ReturnType<typeof openServer>>;

async function doors(t: TestContext, spine: Spine): Promise<Record<string, (id: string) => Promise<Held>>> {
  const { url, tokens, left } = spine;
  const agent = await openClient('http', { url, token: tokens.left });
  t.after(() => agent.close());
  let bots = 0;
  return {
    spine: async (id) => {
      const { leaseToken } = (await left.post<{ leaseToken: string }>(`/jobs/${id}/claim`)).body;
      return {
        id,
        calls: () => left.get(`/jobs/${id}`),
        keeps: () => left.post(`/jobs/${id}/heartbeat`, { leaseToken }),
      };
    },
    mcp: async (id) => {
      const { leaseToken } = await agent.call('claim_job', { id });
      return {
        id,
        calls: () => agent.call('get_job', { id }),
        keeps: () => agent.call('heartbeat', { id, leaseToken }),
      };
    },
    bridge: async (id) => {
      const body = { status: 'in-progress' };
      strictEqual((await left.request('PATCH', `/api/tasks/${id}`, { body })).status, 200);
      const calls = () => left.get('/api/tasks');
      return { id, calls, keeps: calls };
    },
    bots: async (id) => {
      const http = await loggedIn(t, spine, `w${++bots}`, { worker: true });
      const claim = await http.post<{ data: { id: string } }>('/api/v1/worker/tasks/claim', {});
      strictEqual(claim.body.data.id, id);
      return {
        id,
        calls: () => http.get('/api/v1/worker/tasks'),
        keeps: () => http.post('/api/v1/worker/heartbeat', {}),
      };
    },
  };
}
