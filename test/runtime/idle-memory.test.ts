import { ok, strictEqual } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/**
 * A rush that leaves so many objects behind; then calls for some looks, then none. Calls come in crowds: however late the
 * timers of a busy machine are, each look sees that there were some. What V8 collects by itself is not counted.
 */
const RUSH = `
  import { Server } from 'node:http';
  import { syncBuiltinESMExports } from 'node:module';
  import { setTimeout as sleep } from 'node:timers/promises';
  import vm from 'node:vm';
  const LIMIT_MS = 30_000;
  let [looks, collections] = [0, 0];
  const { rss } = process.memoryUsage;
  process.memoryUsage.rss = () => (looks++, rss());
  const run = vm.runInNewContext;
  vm.runInNewContext = (code) => {
    const collect = run(code);
    return (how) => (collections++, collect(how));
  };
  syncBuiltinESMExports();
  const { giveBackAtRest } = await import('./src/runtime/idle-memory.ts');
  const until = async (holds) => {
    for (const end = performance.now() + LIMIT_MS; !holds() && performance.now() < end; ) await sleep(20);
  };
  const server = new Server();
  let kept = Array.from({ length: Number(process.argv[1]) }, (_, i) => ({ i, text: 'x' + i }));
  kept = null;
  const after = rss();
  giveBackAtRest(server);
  const calling = setInterval(() => { for (let i = 0; i < 100; i++) server.emit('request'); }, 20);
  await until(() => looks >= 3 || collections > 0);
  const called = { collections, bytes: rss() };
  clearInterval(calling);
  await until(() => collections > 0);
  console.log(JSON.stringify({ after, called, rested: { collections, bytes: rss() } }));
`;

test('what a rush leaves behind is given back when nobody calls any more, and not before', () => {
  const { after, called, rested } = rush(250_000);
  ok(after < 128 * 1_048_576, `a rush of ${after} bytes is one that is not waited with`);
  strictEqual(called.collections, 0, 'it was given back while there were calls');
  strictEqual(rested.collections, 1, 'nobody asked for a collection');
  ok(rested.bytes <= 0.85 * after, `${rested.bytes} of ${after} bytes: it was not given back`);
});

test('what a large rush leaves behind is given back while there are calls', () => {
  const { after, called } = rush(2_000_000);
  strictEqual(called.collections, 1, 'nobody asked for a collection');
  ok(called.bytes <= 0.7 * after, `${called.bytes} of ${after} bytes: it was not given back`);
});

interface Memory {
  readonly collections: number;
  readonly bytes: number;
}

interface Rush {
  readonly after: number;
  readonly called: Memory;
  readonly rested: Memory;
}

function rush(objects: number): Rush {
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', RUSH, String(objects)], {
    encoding: 'utf8',
  });
  return JSON.parse(printed) as Rush;
}
