import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { eventually, GATEWAY_TOKEN, openScene, openServerOn } from './support.ts';

/** From the death of a server to the next one that looks after its runs: 15 seconds, and what a busy machine adds. Leases take 30. */
const RECOVERED_MS = 24_000;

void describe('runs of a dead server on PostgreSQL', { skip: skipWithoutPostgres, concurrency: 2 }, () => {
  test('are taken over by the server that is started in its place [SC-27 SC-59]', async () => {
    const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
    {
      await using scene = await openScene({ websocket: true, databaseUrl: database.url });
      const { session, id } = await turnUnderWay(scene);
      await scene.server.kill('SIGKILL');
      await scene.server.restart();
      const upAt = performance.now();
      await adopted(scene);
      const tookMs = performance.now() - upAt;
      assert.ok(tookMs < RECOVERED_MS, `taken over after ${Math.round(tookMs)} ms`);
      scene.gateway.finish(session, 'went on without you');
      assert.equal((await scene.ended(id)).status, 'ok');
      assert.equal(scene.gateway.requests('agent').length, 1);
    }
    await database.drop();
  });

  test('are taken over by another server that goes on [SC-27 SC-59]', async () => {
    const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
    {
      await using scene = await openScene({ websocket: true, databaseUrl: database.url });
      const { session, id } = await turnUnderWay(scene);
      const gateway = { url: scene.gateway.url, token: GATEWAY_TOKEN };
      await using other = await openServerOn(gateway, {}, database.url);
      const diedAt = performance.now();
      await scene.server.kill('SIGKILL');
      await adopted(other);
      const tookMs = performance.now() - diedAt;
      assert.ok(tookMs < RECOVERED_MS, `taken over after ${Math.round(tookMs)} ms`);
      scene.gateway.finish(session, 'went on without you');
      assert.equal((await other.ended(id)).status, 'ok');
      assert.equal(scene.gateway.requests('agent').length, 1);
    }
    await database.drop();
  });
});

type Scene = Awaited<ReturnType<typeof openScene>>;

async function turnUnderWay(scene: Scene): Promise<{ readonly session: string; readonly id: string }> {
  scene.gateway.state.plan = () => ({ hang: true });
  const made = await scene.plan({ name: 'lasting', payload_message: 'x' });
  const id = await scene.run(made);
  const session = `agent:main:scheduler:${made.id}:${id}`;
  await eventually('it runs', 10_000, async () => scene.gateway.state.runs.live(session) ?? null);
  return { session, id };
}

async function adopted({ server }: Pick<Scene, 'server'>): Promise<void> {
  await eventually('it was adopted', RECOVERED_MS, async () =>
    /[Aa]dopted/.test(server.output()) ? true : null,
  );
}
