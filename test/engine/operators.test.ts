import assert from 'node:assert/strict';
import type { Actor } from '../../src/domain/command.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import type { JobDraft } from '../../src/engine/engine.ts';
import {
  claimed,
  create,
  createMany,
  DIALECTS,
  eventKinds,
  failed,
  finished,
  HEAD,
  onEvery,
  type Opened,
  read,
  refusal,
  refused,
  stateOf,
  worker,
} from '../support/engines.ts';
import { everyJob } from '../conformance/events.ts';

onEvery(DIALECTS, (each) => {
  each('cancels a job with everything it created that has not ended', async (spine) => {
    const { engine } = spine;
    const top = await create(spine);
    const child = await create(spine, { parentId: top.id, target: 'elsewhere' });
    const done = await create(spine, { parentId: top.id });
    const grandchild = await create(spine, { parentId: done.id });
    const running = await create(spine, { parentId: child.id });
    const other = await create(spine);
    await finished(spine, done);
    const held = await claimed(spine, running);
    await engine.jobs.cancel(worker('ann', ['any']), top.id, 'enough');
    const states = [top, child, done, grandchild, running, other].map((job) => stateOf(spine, job));
    assert.deepEqual(await Promise.all(states), [
      'cancelled',
      'cancelled',
      'done',
      'cancelled',
      'running',
      'queued',
    ]);
    const beat = await engine.leases.heartbeat(worker('w'), running.id, held.leaseToken, null);
    assert.equal(beat.job.cancelRequested, true);
    await engine.leases.release(worker('w'), running.id, held.leaseToken, null);
    assert.equal(await stateOf(spine, running), 'cancelled');
    assert.deepEqual(await eventKinds(spine, child), ['job.created', 'job.cancelled']);
    assert.equal((await read(spine, top)).reason, 'enough');
  });

  each('cancels once: again is the same, and what has ended otherwise is left alone', async (spine) => {
    const job = await create(spine);
    await spine.engine.jobs.cancel(HEAD, job.id, null);
    await spine.engine.jobs.cancel(HEAD, job.id, null);
    assert.deepEqual(await eventKinds(spine, job), ['job.created', 'job.cancelled']);
    const done = await create(spine);
    await finished(spine, done);
    assert.equal(await refusal(spine.engine.jobs.cancel(HEAD, done.id, null)), 'conflict');
    assert.equal(await refusal(spine.engine.jobs.cancel(HEAD, 'nobody', null)), 'not_found');
  });

  each('does not let a claw cancel what is addressed to another', async (spine) => {
    const job = await create(spine, { target: 'right-claw' });
    assert.equal(
      await refusal(spine.engine.jobs.cancel(worker('left-claw', ['left-claw', 'any']), job.id, null)),
      'forbidden',
    );
    assert.equal(await stateOf(spine, job), 'queued');
  });

  each('reopens an ended job by hand, with an event that says who and from what', async (spine) => {
    const job = await create(spine, { maxAttempts: 1 });
    await failed(spine, job);
    assert.equal(await stateOf(spine, job), 'dead');
    const again = (await spine.engine.jobs.retry(HEAD, job.id)).job;
    assert.deepEqual([again.state, again.attempts, again.maxAttempts], ['queued', 1, 2]);
    await failed(spine, job);
    const redriven = (await spine.engine.jobs.redrive(HEAD, job.id)).job;
    assert.deepEqual([redriven.state, redriven.attempts], ['queued', 0]);
    await finished(spine, job);
    assert.equal(await refusal(spine.engine.jobs.redrive(HEAD, job.id)), 'conflict');
    const events = await spine.engine.jobs.events(HEAD, job.id, 0, 100);
    assert.deepEqual(
      events.filter(({ kind }) => kind === 'job.reopened').map(({ by, facts }) => [by, facts]),
      [
        ['head', { from: 'dead' }],
        ['head', { from: 'dead' }],
      ],
    );
    assert.equal((await read(spine, job)).fence, 3);
  });

  each('shows no error of an earlier life on a job that succeeded', async (spine) => {
    const job = await create(spine, { maxAttempts: 1 });
    await failed(spine, job, true, 'boom');
    await spine.engine.jobs.redrive(HEAD, job.id);
    const done = await finished(spine, job, null);
    assert.equal((await spine.engine.jobs.details([done])).get(job.no)?.error, null);
  });

  each('lets a holder create children for those it serves, and nobody else', async (spine) => {
    const { engine } = spine;
    const holder = worker('left-claw', ['left-claw', 'any']);
    const parent = await create(spine);
    const child = (by: Actor, target = 'any') => engine.jobs.create(by, [{ target, parentId: parent.id }]);
    assert.equal(await refusal(child(holder)), 'not_owner');
    await claimed(spine, parent, holder);
    const made = (await child(holder)).jobs[0];
    assert.equal(made?.parentNo, parent.no);
    assert.equal(await refusal(child(holder, 'right-claw')), 'forbidden');
    assert.equal(await refusal(child(worker('other', ['any']))), 'not_owner');
    assert.equal((await child(HEAD, 'right-claw')).jobs.length, 1);
    await engine.leases.complete(HEAD, parent.id, null, null);
    assert.equal(await refusal(child(holder)), 'not_owner');
    const error = await refused(engine.jobs.create(HEAD, [{ target: 'any', parentId: 'nobody' }]));
    assert.deepEqual([error.code, error.details['field']], ['bad_request', 'parentId']);
  });

  each('bounds the children of one job, batch or not', async (spine) => {
    const parent = await create(spine);
    await createMany(spine, LIMITS.childrenPerJob - 1, { parentId: parent.id });
    assert.equal(await refusal(createMany(spine, 2, { parentId: parent.id })), 'too_many_children');
    await create(spine, { parentId: parent.id });
    assert.equal(await refusal(create(spine, { parentId: parent.id })), 'too_many_children');
    assert.equal((await everyJob(spine)).length, LIMITS.childrenPerJob + 1);
  });

  each('gives a holder no child that has more than the job it holds', async (spine) => {
    const { engine } = spine;
    const parent = await create(spine, { maxAttempts: 1, timeoutMs: 5_000, pool: 'gpu' });
    const holder = worker('w', ['any']);
    await claimed(spine, parent, holder);
    const child = (draft: Partial<JobDraft>, by: Actor = holder) =>
      engine.jobs.create(by, [{ target: 'any', parentId: parent.id, ...draft }]);
    for (const [field, value] of Object.entries({
      priority: 1,
      timeoutMs: 5_001,
      maxAttempts: 2,
      pool: 'other',
      concurrencyKey: 'k',
      uniqueKey: 'k',
      budget: 1,
      type: 'never-heard-of',
    })) {
      const error = await refused(child({ [field]: value }));
      assert.deepEqual([error.code, error.details['field']], ['bad_request', field]);
    }
    assert.deepEqual((await engine.types.list('', 10)).length, 0);
    const [made] = (await child({})).jobs;
    assert.deepEqual([made?.maxAttempts, made?.timeoutMs, made?.pool], [1, 5_000, 'gpu']);
    assert.equal((await child({ priority: 9, uniqueKey: 'k' }, HEAD)).jobs.length, 1);
    // Whoever does not hold the parent does not learn what it has.
    assert.equal(await refusal(child({ priority: 1 }, worker('other', ['any']))), 'not_owner');
  });

  each('has the child of a job that needed approval wait for the same', async (spine) => {
    const { engine } = spine;
    const parent = await create(spine, { approval: { timeoutS: 60, auto: 'reject' } });
    await engine.approvals.resolve(HEAD, parent.id, { agree: true, notes: null, by: 'operator' });
    await claimed(spine, parent);
    const child = (approval?: JobDraft['approval']) =>
      engine.jobs.create(worker('w'), [
        { target: 'any', parentId: parent.id, ...(approval && { approval }) },
      ]);
    assert.equal((await refused(child({ auto: 'approve', timeoutS: 1 }))).details['field'], 'approval');
    const [made] = (await child()).jobs;
    assert.equal(made?.state, 'awaiting_approval');
  });

  each('bounds how deep children have children, and how many there are below one job', async (spine) => {
    let last = await create(spine);
    for (let depth = 1; depth <= LIMITS.childDepth; depth++)
      last = await create(spine, { parentId: last.id });
    const error = await refused(create(spine, { parentId: last.id }));
    assert.deepEqual([error.code, error.details['depth']], ['too_many_children', LIMITS.childDepth]);
    const top = await create(spine);
    for (const branch of await createMany(spine, 10, { parentId: top.id }))
      for (let made = 0; made < 999; made += 333) await createMany(spine, 333, { parentId: branch.id });
    const [branch] = await createMany(spine, 1, { parentId: top.id });
    assert.equal(await refusal(create(spine, { parentId: branch?.id ?? '' })), 'too_many_children');
  });

  each('makes all jobs of a batch or none', async (spine) => {
    const good = { target: 'any' };
    await assert.rejects(
      spine.engine.jobs.create(HEAD, [good, { ...good, after: [{ job: 'nobody' }] }, good]),
      { code: 'bad_request' },
    );
    assert.deepEqual(await everyJob(spine), []);
    assert.deepEqual(await spine.engine.counts(), []);
  });

  each('holds params to the schema of their type, and names the field', async (spine) => {
    const { engine } = spine;
    const paramsSchema = {
      type: 'object',
      required: ['url'],
      properties: { url: { type: 'string', pattern: '^https:' } },
    };
    const type = await engine.types.save(HEAD, {
      name: 'fetch',
      label: 'Fetch',
      sop: 'Fetch it.',
      paramsSchema,
    });
    assert.deepEqual(JSON.parse(type.paramsSchema ?? ''), paramsSchema);
    await create(spine, { type: 'fetch', params: { url: 'https://x' } });
    for (const params of [undefined, {}, { url: 5 }, { url: 'http://x' }]) {
      const error = await refused(create(spine, { type: 'fetch', ...(params && { params }) }));
      assert.deepEqual([error.code, error.details['field']], ['bad_request', 'params']);
    }
    const error = await refused(
      engine.jobs.create(HEAD, [{ target: 'any' }, { target: 'any', type: 'fetch' }]),
    );
    assert.equal(error.details['field'], 'jobs[1].params');
    await engine.types.save(HEAD, { name: 'fetch' });
    await create(spine, { type: 'fetch' });
  });

  each('refuses a schema that cannot be used', async (spine) => {
    const error = await refused(
      spine.engine.types.save(HEAD, { name: 't', paramsSchema: { type: 'nonsense' } }),
    );
    assert.deepEqual([error.code, error.details['field']], ['bad_request', 'paramsSchema']);
    assert.equal(await refusal(spine.engine.types.get('t')), 'not_found');
  });

  each('refuses jobs of a type that was stored with a schema that cannot be used', async (spine) => {
    // Databases and imports from before schemas were judged as strictly.
    for (const paramsSchema of ['{"$async":true}', '{"pattern":"(a+)+$(?=b)"}', '{', '[]']) {
      const stored = {
        name: 'old',
        label: 'old',
        sop: null,
        paramsSchema,
        maxRetries: 3,
        backoffMs: null,
        scoring: null,
        provider: null,
        onlyIfMissing: false,
      };
      await spine.engine.core.flusher.transact(HEAD, async (tx) => tx.types.save(stored, 1));
      spine.engine.core.forgetTypes();
      const error = await refused(create(spine, { type: 'old', params: {} }));
      assert.equal(error.code, 'conflict');
      assert.match(
        String(error.details['problem']),
        /type old was stored with a paramsSchema .*save the type again/,
      );
    }
    await spine.engine.types.save(HEAD, { name: 'old' });
    await create(spine, { type: 'old' });
  });

  each('bounds the checks of all jobs of a batch together', async (spine) => {
    await spine.engine.types.save(HEAD, { name: 'rows', paramsSchema: { uniqueItems: true } });
    const params = Array.from({ length: 20_000 }, (_, i) => i);
    const job = { target: 'any', type: 'rows', params };
    await spine.engine.jobs.create(HEAD, [job]);
    const error = await refused(
      spine.engine.jobs.create(
        HEAD,
        Array.from({ length: 40 }, () => job),
      ),
    );
    assert.equal(error.code, 'bad_request');
    assert.match(
      String(error.details['problem']),
      /^jobs\[\d+\]\.params .* takes too long to check; send less/,
    );
  });

  each(
    'refuses more unfinished jobs than the installation allows',
    async (spine) => {
      spine.engine.core.unfinished = 9;
      await create(spine);
      assert.equal(await refusal(createMany(spine, 2)), 'queue_full');
    },
    { settings: { maxUnfinishedJobs: 10 } },
  );

  each(
    'gives jobs the defaults of the installation [SP-14 SP-34]',
    async (spine: Opened) => {
      const job = await create(spine);
      assert.deepEqual([job.maxAttempts, job.leaseMs, job.priority, job.runAt], [3, 7_000, 0, job.createdAt]);
      assert.equal((await create(spine, { maxAttempts: 9 })).maxAttempts, 9);
    },
    { settings: { maxAttempts: 3, leaseMs: 7_000 } },
  );
});
