import assert from 'node:assert/strict';
import { create, type Each, read } from '../support/engines.ts';
import { everyJob } from './events.ts';

export function migrationTopics(each: Each): void {
  each('opens what it has closed: the same identity, the same jobs, the next number', async (spine) => {
    const first = await create(spine, { title: 'before' });
    if (spine.reopen === null) return;
    const { identity } = spine.store;
    await using again = await spine.reopen();
    assert.equal(again.store.identity, identity);
    assert.deepEqual(await read(again, first), first);
    const second = await create(again);
    assert.ok(second.no > first.no);
    assert.equal((await everyJob(again)).length, 2);
  });
}
