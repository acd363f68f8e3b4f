import { ok, strictEqual } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/**
 * A start and a rush that leave so many objects behind; then calls for some looks, then none. Calls come in crowds: however late the
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
  const [started, rushed] = process.argv.slice(1).map(Number);
  const leaveBehind = (objects) => void Array.from({ length: objects }, (_, i) => ({ i, text: 'x' + i }));
  leaveBehind(started);
  const atStart = rss();
  giveBackAtRest(server);
  leaveBehind(rushed);
  const after = rss();
  const calling = setInterval(() => { for (let i = 0; i < 100; i++) server.emit('request'); }, 20);
  await until(() => looks >= 3 || collections > 0);
  const called = { collections, bytes: rss() };
  clearInterval(calling);
  await until(() => collections > 0);
  console.log(JSON.stringify({ atStart, after, called, rested: { collections, bytes: rss() } }));
`;

test('what a start and a rush leave behind is given back when nobody calls any more, and not before', () => {
  const { atStart, after, called, rested } = rush({ started: 2_000_000, rushed: 250_000 });
  ok(atStart > 160 * 1_048_576, `a start of ${atStart} bytes is none that would be taken for a rush`);
  ok(after - atStart < 128 * 1_048_576, `a rush of ${after - atStart} bytes is one that is not waited with`);
  strictEqual(called.collections, 0, 'it was given back while there were calls');
  strictEqual(rested.collections, 1, 'nobody asked for a collection');
  ok(rested.bytes <= 0.85 * after, `${rested.bytes} of ${after} bytes: it was not given back`);
});

test('what a large rush leaves behind is given back while there are calls', () => {
  const { after, called } = rush({ rushed: 2_000_000 });
  strictEqual(called.collections, 1, 'nobody asked for a collection');
  ok(called.bytes <= 0.7 * after, `${called.bytes} of ${after} bytes: it was not given back`);
});

interface Memory {
  readonly collections: number;
  readonly bytes: number;
}

interface Rush {
  readonly atStart: number;
  readonly after: number;
  readonly called: Memory;
  readonly rested: Memory;
}

interface LeftBehind {
  readonly started?: number;
  readonly rushed?: number;
}

function rush({ started = 0, rushed = 0 }: LeftBehind): Rush {
  const args = ['--input-type=module', '-e', RUSH, String(started), String(rushed)];
  const printed = execFileSync(process.execPath, args, { encoding: 'utf8' });
  return JSON.parse(printed) as Rush;
}
