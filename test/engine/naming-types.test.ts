import assert from 'node:assert/strict';
import { LIMITS } from '../../src/domain/limits.ts';
import { bareType } from '../../src/domain/job-type.ts';
import {
  claimed,
  create,
  DIALECTS,
  HEAD,
  onEvery,
  type Opened,
  refused,
  worker,
} from '../support/engines.ts';

const names = async (spine: Opened): Promise<string[]> =>
  (await spine.store.read.types.names()).map(({ name }) => name);

onEvery(DIALECTS, (each, { dialect }) => {
  each('while nobody has declared a type, naming one is enough', async (spine) => {
    const job = await create(spine, { type: 'resize' });
    assert.equal((await spine.engine.types.known()).get(job.typeNo)?.name, 'resize');
  });

  each(
    'once a type is declared an unknown one is refused, and the one that was meant is named',
    async (spine) => {
      await spine.engine.types.save(HEAD, { name: 'resize' });
      const typo = await refused(create(spine, { type: 'reszie' }));
      assert.equal(typo.code, 'bad_request');
      assert.equal(typo.details['field'], 'type');
      assert.match(String(typo.details['problem']), /did you mean resize\?.*newType/);
      const other = await refused(create(spine, { type: 'entirely-different' }));
      assert.doesNotMatch(String(other.details['problem']), /did you mean/);
      assert.deepEqual(await names(spine), ['resize']);
    },
  );

  each('of a batch the job with the unknown type is named, and none is made', async (spine) => {
    await spine.engine.types.save(HEAD, { name: 'resize' });
    const drafts = [
      { target: 'any', type: 'resize' },
      { target: 'any', type: 'reszie' },
    ];
    const refusal = await refused(spine.engine.jobs.create(HEAD, drafts));
    assert.equal(refusal.details['field'], 'jobs[1].type');
    assert.deepEqual(
      await spine.engine.jobs.list(HEAD, { states: ['queued'], order: 'oldest', limit: 10 }),
      [],
    );
  });

  each('whoever says that it means a new type gets it', async (spine) => {
    await spine.engine.types.save(HEAD, { name: 'resize' });
    const job = await create(spine, { type: 'reszie', newType: true });
    assert.equal((await spine.engine.types.known()).get(job.typeNo)?.name, 'reszie');
    await create(spine, { type: 'reszie' });
  });

  each('what was there before types were declared goes on', async (spine) => {
    await create(spine, { type: 'old' });
    await spine.engine.types.save(HEAD, { name: 'resize' });
    await create(spine, { type: 'old' });
    assert.deepEqual(await names(spine), ['old', 'resize']);
  });

  each('the holder of a job makes no types, whatever it says', async (spine) => {
    const parent = await create(spine);
    await claimed(spine, parent, worker('w'));
    const child = { target: 'any', parentId: parent.id, type: 'new', newType: true };
    const refusal = await refused(spine.engine.jobs.create(worker('w'), [child]));
    assert.equal(refusal.code, 'bad_request');
    assert.deepEqual(await names(spine), []);
  });

  each('a schedule and a subscription make no types by a typo', async (spine) => {
    await spine.engine.types.save(HEAD, { name: 'resize' });
    const draft = {
      name: 'nightly',
      schedule: '0 2 * * *',
      payload_message: 'Go',
      type: 'reszie',
      session_target: 'queue',
    };
    const schedule = await refused(spine.engine.schedules.create(HEAD, draft));
    assert.match(String(schedule.details['problem']), /did you mean resize/);
    await spine.engine.aliases.save(HEAD, { alias: 'ops', channel: 'log', target: 'x', description: null });
    const told = { alias: 'ops', events: ['failed'] as const, type: 'reszie' };
    const subscription = await refused(spine.engine.subscriptions.add(HEAD, told));
    assert.match(String(subscription.details['problem']), /did you mean resize/);
    assert.deepEqual(await names(spine), ['resize']);
  });

  each('types that nobody has declared are bounded', async (spine) => {
    await spine.store.transaction(0, async (tx) => {
      for (let i = 0; i < LIMITS.undeclaredTypes; i++) await tx.types.save(bareType(`t${i}`), 1);
    });
    spine.engine.core.forgetTypes();
    const refusal = await refused(create(spine, { type: 'one-more', newType: true }));
    assert.equal(refusal.details['field'], 'type');
    await create(spine, { type: 't1' });
    // Declared ones are made by whoever may, one at a time.
    await spine.engine.types.save(HEAD, { name: 'one-more' });
    await create(spine, { type: 'one-more' });
  });

  if (dialect === 'postgres')
    each('a type that another server has just declared is known', async (spine) => {
      await spine.engine.types.save(HEAD, { name: 'resize' });
      await create(spine, { type: 'resize' });
      await using other = await spine.another?.();
      await other?.engine.types.save(HEAD, { name: 'crop' });
      await create(spine, { type: 'crop' });
    });
});
