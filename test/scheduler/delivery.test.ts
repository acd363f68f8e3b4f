import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { skipWithoutPostgres } from '../support/postgres.ts';
import { telegram } from '../support/telegram.ts';
import { eventually, openScene, type Scene, sceneOn, STORES } from './support.ts';

const BOT = '4242:secret-of-the-bot';

interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly proof: Record<string, unknown> | null;
  readonly error: string | null;
  readonly delivered_at: string | null;
}

async function addAlias({ server }: Scene, body: object): Promise<void> {
  const answer = await server.head.post('/aliases', body);
  assert.equal(answer.status, 201, answer.text);
}

async function deliveriesOf({ server }: Scene, runId: string): Promise<Delivery[]> {
  return (await server.head.get<{ deliveries: Delivery[] }>(`/deliveries?run_id=${runId}`)).body.deliveries;
}

function delivered(scene: Scene, runId: string, limitMs = 30_000): Promise<Delivery> {
  return eventually('it is delivered', limitMs, async () => {
    const [delivery] = await deliveriesOf(scene, runId).catch(() => []);
    return delivery?.status === 'delivered' ? delivery : null;
  });
}

// They wait for tries and leases, each beside a server of its own: together they take as long as the longest.
void suite('what a run says', { concurrency: 5 }, () => {
  for (const store of STORES) {
    const skip = store === 'PostgreSQL' ? skipWithoutPostgres : false;
    test(`${store}: what a run says goes to its alias by the gateway, once, and into no prompt; two failures are tried again [SC-30 SC-50]`, {
      skip,
    }, async () => {
      await using scene = await sceneOn(store);
      const { state } = scene.gateway;
      const prompts: string[] = [];
      state.plan = (message) => {
        prompts.push(message);
        return { text: message.includes('report') ? 'All is well' : 'ok', delayMs: 100 };
      };
      await addAlias(scene, { alias: '@ops', channel: 'telegram', target: '-100123' });
      const made = await scene.plan({ name: 'daily', payload_message: 'report', delivery_to: '@ops' });
      const other = await scene.plan({
        name: 'other',
        payload_message: 'something else',
        overlap_policy: 'allow',
      });
      const [runId, otherId] = [await scene.run(made), await scene.run(other)];
      const run = await scene.ended(runId);
      const delivery = await delivered(scene, runId);
      assert.deepEqual(delivery.proof, { messageId: 'm1' });
      assert.equal(delivery.attempts, 1);
      assert.ok(delivery.delivered_at !== null);
      assert.deepEqual(state.messages, [{ channel: 'telegram', target: '-100123', text: 'All is well' }]);
      assert.deepEqual(run.context_summary?.['aliases_resolved'], ['@ops']);
      await scene.ended(otherId);
      await scene.ended(await scene.run(other));
      assert.ok(prompts.every((prompt) => !prompt.includes('All is well')));
      const shown = await scene.server.head.get<{ deliveries: Delivery[] }>(`/runs/${runId}`);
      assert.equal(shown.body.deliveries[0]?.id, delivery.id);

      state.messageFailures.push(500, 500);
      const second = await scene.run(made);
      const again = await delivered(scene, second);
      assert.equal(again.attempts, 3);
      assert.equal(state.messages.length, 2, 'each was delivered once');
    });
  }

  test('NO_FLUSH and nothing else is silence, and the run says that there was nothing to flush [SC-29]', async () => {
    await using scene = await openScene();
    await addAlias(scene, { alias: 'ops', channel: 'telegram', target: '1' });
    const made = await scene.plan({
      name: 'flush',
      payload_message: 'x',
      job_class: 'pre_compaction_flush',
      delivery_to: 'ops',
    });
    for (const text of ['NO_FLUSH', 'NO_FLUSH ']) {
      scene.gateway.state.plan = () => ({ text });
      const id = await scene.run(made);
      await scene.ended(id);
      const { body } = await scene.server.head.get<{ summary: string }>(`/runs/${id}`);
      assert.equal(body.summary, 'nothing to flush');
    }
    scene.gateway.state.plan = () => ({ text: 'NO_FLUSH but' });
    await delivered(scene, await scene.run(made));
    assert.deepEqual(
      scene.gateway.state.messages.map(({ text }) => text),
      ['NO_FLUSH but'],
    );
  });

  test('a server that is killed between sending and writing it down sends again, and loses nothing', async () => {
    await using bot = await telegram(BOT);
    await using scene = await openScene({
      env: { SPINE_TELEGRAM_TOKEN: BOT, SPINE_TELEGRAM_URL: bot.url },
    });
    await addAlias(scene, { alias: 'ops', channel: 'telegram', target: '5' });
    scene.gateway.state.plan = () => ({ text: 'said' });
    const made = await scene.plan({ name: 'tell', payload_message: 'x', delivery_to: 'ops' });
    // The bot has it, and the answer never comes.
    const hung = bot.hang();
    const runId = await scene.run(made);
    await eventually('it was sent', 20_000, async () => (bot.came.length === 1 ? true : null));
    await scene.server.kill('SIGKILL');
    hung();
    await scene.server.restart();
    const delivery = await delivered(scene, runId, 60_000);
    assert.equal(delivery.attempts, 2);
    assert.deepEqual(
      bot.came.map(({ body }) => body['text']),
      ['said', 'said'],
    );
    assert.ok(!scene.server.output().includes(BOT), 'the token is in no log');
  });
});
