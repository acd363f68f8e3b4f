import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Actor } from '../../src/domain/command.ts';
import type { SpineError } from '../../src/domain/error.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import { Strangers } from '../../src/engine/strangers.ts';
import type { Store } from '../../src/store/store.ts';
import { rest, until } from '../support/clock.ts';
import { claimed, create, onEvery, POSTGRES, worker } from '../support/engines.ts';

/** Stand for the two ways to read; nothing is read here. */
const STORE = { read: {}, readCallers: {} } as unknown as Pick<Store, 'read' | 'readCallers'>;

/** Looks that end when they are told to, and how many are under way. */
function looks() {
  const open: (() => void)[] = [];
  const look = (actor: Actor | null) => async (): Promise<Actor | null> => {
    await new Promise<void>((resolve) => open.push(resolve));
    return actor;
  };
  return { look, open };
}

suite('callers whose token has to be looked up', () => {
  test('strangers are looked up two at a time, and too many in line are told to come back', async () => {
    const strangers = new Strangers(STORE);
    const { look, open } = looks();
    let decided = 0;
    const invent = (no: number) => strangers.lookUp(`invented ${no}`, look(null)).finally(() => decided++);
    const invented = Array.from({ length: LIMITS.waitingStrangers + 2 }, (_, no) => invent(no));
    await rest();
    assert.equal(open.length, 2);
    await assert.rejects(
      strangers.lookUp('one more', look(null)),
      (error: SpineError) => error.code === 'overloaded' && error.details['retryAfterS'] === 1,
    );
    await until('each had its turn', () => {
      for (const end of open.splice(0)) end();
      return decided === invented.length;
    });
    assert.deepEqual(new Set(await Promise.all(invented)), new Set([null]));
  });

  test('whoever was known before stands in no line, until its token counts no more', async () => {
    const strangers = new Strangers(STORE);
    const { look } = looks();
    const counts = async (): Promise<Actor> => worker('w');
    assert.equal((await strangers.lookUp('known', counts))?.name, 'w');
    // They fill the line, and nobody looks for them.
    for (let no = 0; no < 10; no++) void strangers.lookUp(`invented ${no}`, look(null));
    assert.equal((await strangers.lookUp('known', counts))?.name, 'w');
    assert.equal(await strangers.lookUp('known', async () => null), null);
    const again = strangers.lookUp('known', counts).then(() => 'let in');
    assert.equal(await Promise.race([again, rest().then(() => 'in line')]), 'in line');
  });
});

onEvery([POSTGRES], (each) => {
  each('a run that was heard from before is known while every other read waits', async (spine) => {
    const held = await claimed(spine, await create(spine));
    const token = `run.${held.id}.${held.leaseToken}`;
    const { tokens } = spine.engine;
    assert.equal((await tokens.actorBehind(token))?.onlyJob, held.id);
    const { byId } = spine.store.read.jobs;
    const stuck = Promise.withResolvers<never>();
    Object.assign(spine.store.read.jobs, { byId: () => stuck.promise });
    try {
      assert.equal((await tokens.actorBehind(token))?.onlyJob, held.id);
    } finally {
      Object.assign(spine.store.read.jobs, { byId });
    }
  });
});
