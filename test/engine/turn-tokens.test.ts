import assert from 'node:assert/strict';
import { DIALECTS, onEvery, worker } from '../support/engines.ts';
import { plan, pump, runNow, take } from '../support/scheduling.ts';

const HOLDER = worker('w');

onEvery(DIALECTS, (each) => {
  each(
    'the token of a dispatch is good for its run, until that is dispatched anew, taken back or over',
    async (spine) => {
      const { runs, tokens, leases } = spine.engine;
      await runNow(spine, await plan(spine));
      const { id, leaseToken } = (await take(spine))?.job ?? assert.fail('there is no run');
      assert.ok(leaseToken);
      const dispatched = async (): Promise<string> => {
        await spine.clock.advance(1_000);
        const dispatchedAt = spine.engine.now();
        await runs.note(HOLDER, id, leaseToken, { dispatchedAt });
        return tokens.ofTurn(id, dispatchedAt);
      };
      const runBehind = async (token: string): Promise<string | undefined> =>
        (await tokens.actorBehind(token))?.onlyJob;

      const first = await dispatched();
      assert.equal(await runBehind(first), id);
      assert.equal(await runBehind(first.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))), undefined);
      const second = await dispatched();
      assert.deepEqual([await runBehind(first), await runBehind(second)], [undefined, id]);
      await runs.note(HOLDER, id, leaseToken, { dispatchedAt: null });
      assert.equal(await runBehind(second), undefined);
      const third = await dispatched();
      assert.equal(await runBehind(third), id);
      await leases.complete(HOLDER, id, leaseToken, 'done');
      await pump(spine);
      assert.equal(await runBehind(third), undefined);
    },
  );
});
