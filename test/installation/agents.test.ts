import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { SpineClient } from '../../src/client/index.ts';
import { openClient, TRANSPORTS } from '../mcp/support.ts';
import { eventually } from '../scheduler/support.ts';
import { skipWithoutPostgres } from '../support/postgres.ts';
import { madeIn, newInstallation } from './support.ts';

suite('callers of two servers on one database', { skip: skipWithoutPostgres }, () => {
  test('who waits at one of them for the end of a job hears of it from the other at once', async (t) => {
    const spine = await newInstallation(t);
    const dir = spine.dataDir();
    const a = await spine.start(dir);
    const b = await spine.start(spine.dataDir());
    const tokens = madeIn(dir) ?? assert.fail();
    const head = new SpineClient({ baseUrl: a.url, token: tokens.head });
    const left = new SpineClient({ baseUrl: b.url, token: tokens.left_claw });
    t.after(() => Promise.all([head.close(), left.close()]));
    const run = head.jobs.run({ target: 'left-claw', spec: 'add up' });
    const [held] = await left.jobs.claimNext({ waitMs: 20_000 });
    assert.ok(held !== undefined);
    // So that the wait at the other server has begun.
    await left.jobs.heartbeat(held);
    const endedAt = performance.now();
    await left.jobs.complete(held, { result: 3 });
    const { ended, state, result } = await run;
    assert.deepEqual([ended, state, result], [true, 'done', 3]);
    // A poll would take far longer.
    assert.ok(performance.now() - endedAt < 15_000, `${performance.now() - endedAt} ms`);
    assert.equal((await left.jobs.wait(held.id, { waitMs: 20_000 })).result, 3);
  });

  for (const transport of TRANSPORTS) {
    test(`a token that is revoked at one of them ends what an MCP client waits for at the other, over ${transport}`, async (t) => {
      const spine = await newInstallation(t);
      const dir = spine.dataDir();
      const a = await spine.start(dir);
      const b = await spine.start(spine.dataDir());
      const head = spine.client(a, madeIn(dir)?.head ?? assert.fail());
      const { body } = await head.post<{ token: string; id: string }>('/tokens', {
        name: 'helper',
        role: 'worker',
        targets: ['left-claw'],
      });
      await using helper = await eventually('the other server knows the token', 10_000, () =>
        openClient(transport, { url: b.url, token: body.token }).catch(() => null),
      );
      assert.deepEqual((await helper.call('claim_jobs', {}))['jobs'], []);
      const waiting = helper.call('claim_jobs', { waitMs: 50_000 }).catch((error: Error) => error);
      await eventually('it waits', 10_000, async () => {
        const stats = await spine.client(b, madeIn(dir)?.head ?? '').get<{ waitingClaims: number }>('/stats');
        return stats.body.waitingClaims === 1 ? true : null;
      });
      const revokedAt = performance.now();
      assert.equal((await head.request('DELETE', `/tokens/${body.id}`)).status, 200);
      await waiting;
      assert.ok(
        performance.now() - revokedAt < 15_000,
        `it waited for ${performance.now() - revokedAt} ms more`,
      );
      const refused = await helper.call('get_stats').then(
        (answer) => JSON.stringify(answer),
        (error: Error) => error.message,
      );
      assert.match(refused, /unauthorized|401/i);
      // What comes now is not for it.
      await head.post('/jobs', { target: 'left-claw' });
      const { body: jobs } = await head.get<{ jobs: { state: string }[] }>('/jobs');
      assert.deepEqual(
        jobs.jobs.map(({ state }) => state),
        ['queued'],
      );
    });
  }
});
