import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { startStandIn } from '../support/gateway/stand-in.ts';
import { eventually, openServerOn, type RunBody, type Scene, type ScheduleBody } from './support.ts';

/** A way to a port that can be cut: what goes over it breaks off, and nobody gets through. */
async function cable(port: number) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    mend: () => void (isCut = false),
    [Symbol.asyncDispose]: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Ends when so many more runs were well than now. */
async function moreRuns(scene: Scene, made: ScheduleBody, count: number): Promise<void> {
  const well = async (): Promise<number> => {
    const runs = await scene.runs(made).catch(() => []);
    return runs.filter(({ status }) => status === 'ok').length;
  };
  const before = await well();
  await eventually(`${count} more runs`, 30_000, async () =>
    (await well()) >= before + count ? true : null,
  );
}

// Four recoveries one after another: on a busy machine each takes its time.
const FOUR_RECOVERIES = { timeout: 180_000 };

test(
  'no tick and no run is lost through restarts of the gateway and the server and a cut network [SC-95]',
  FOUR_RECOVERIES,
  async () => {
    const gateway = await startStandIn({ token: 'token-of-the-stand-in' });
    await using _ = { [Symbol.asyncDispose]: () => gateway.stop() };
    gateway.state.plan = () => ({ text: 'well', delayMs: 300 });
    await using network = await cable(Number(new URL(gateway.url).port));
    await using scene = await openServerOn({ url: network.url, token: 'token-of-the-stand-in' });
    const made = await scene.plan({
      name: 'pulse',
      every: '1s',
      payload_message: 'beat',
      overlap_policy: 'allow',
      catch_up: 'all',
      catch_up_max: 1_000,
      delivery_guarantee: 'at-least-once',
    });
    await moreRuns(scene, made, 2);
    await gateway.down();
    await eventually('a run waits for the gateway', 10_000, async () =>
      (await scene.runs(made)).some(({ status }) => status === 'pending') ? true : null,
    );
    await gateway.up();
    await moreRuns(scene, made, 2);
    await scene.server.kill('SIGKILL');
    await scene.server.restart();
    await moreRuns(scene, made, 2);
    // In the middle of a turn.
    await eventually('a turn is under way', 10_000, async () =>
      (await scene.runs(made)).some(({ status }) => status === 'running') ? true : null,
    );
    network.cut();
    await eventually('a run waits for the network', 10_000, async () =>
      (await scene.runs(made)).some(({ status }) => status === 'pending') ? true : null,
    );
    network.mend();
    await moreRuns(scene, made, 2);
    await scene.server.head.post(`/schedules/${made.id}/disable`, {});
    const runs = await eventually('nothing is under way any more', 60_000, async () => {
      const all = await scene.runs(made);
      return all.every(({ finished_at }) => finished_at !== null) ? all : null;
    });
    assertEveryTickRan(runs);
    assert.deepEqual((await scene.server.head.get('/runs/stale?threshold_s=1')).body, { runs: [] });
  },
);

/** A run that crashed was done again; in the end every second since the first has one that went well. */
function assertEveryTickRan(runs: readonly (RunBody & { readonly due_at?: string | null })[]): void {
  const well = runs.filter(({ status }) => status === 'ok').map(({ due_at }) => Date.parse(due_at ?? ''));
  const [first, last] = [Math.min(...well), Math.max(...well)];
  const expected = Array.from({ length: (last - first) / 1_000 + 1 }, (_, i) => first + i * 1_000);
  assert.deepEqual(
    [...new Set(well)].toSorted((a, b) => a - b),
    expected,
  );
  assert.equal(well.length, expected.length, 'none went well twice');
  assert.ok(runs.every(({ status }) => status === 'ok' || status === 'crashed'));
}
