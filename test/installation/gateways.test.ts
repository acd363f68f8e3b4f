import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { eventually } from '../scheduler/support.ts';
import { skipWithoutPostgres } from '../support/postgres.ts';
import { madeIn, newInstallation } from './support.ts';

suite('gateways of servers on one database', { skip: skipWithoutPostgres }, () => {
  test('work is waited for by whichever server has the gateway, and the others know that', async (t) => {
    let ready = true;
    const gateway = createServer((_, response) => {
      response.statusCode = ready ? 200 : 503;
      response.end('{}');
    });
    await once(gateway.listen(0, '127.0.0.1'), 'listening');
    t.after(() => {
      gateway.closeAllConnections();
      gateway.close();
    });
    const { port } = gateway.address() as AddressInfo;
    const spine = await newInstallation(t);
    const [dirA, dirB] = [spine.dataDir(), spine.dataDir()];
    const env = { SPINE_GATEWAY: 'on', OPENCLAW_GATEWAY_URL: `http://127.0.0.1:${port}` };
    await spine.start(dirA, env);
    const b = spine.client(await spine.start(dirB, { SPINE_GATEWAY: 'off' }), madeIn(dirA)?.head ?? '');
    const warning = async (target: string): Promise<unknown> => {
      const { status, body } = await b.post<{ id: string; warning?: string }>('/jobs', { target });
      assert.equal(status, 201);
      await b.post(`/jobs/${body.id}/cancel`, {});
      return body.warning ?? null;
    };
    // Before it has heard what the other serves it says nothing of any.
    await eventually('b knows what a serves', 20_000, () => warning('gateway:other'));
    assert.equal(await warning('gateway:main'), null);
    ready = false;
    const said = await eventually('b hears that it is away', 30_000, () => warning('gateway:main'));
    assert.match(String(said), /^The gateway main takes no work now \(.*503.*\)/);
    ready = true;
    await eventually('it is back', 30_000, async () =>
      (await warning('gateway:main')) === null ? true : null,
    );
  });
});
