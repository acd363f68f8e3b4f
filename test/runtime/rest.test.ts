import { ok } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/** A rush that leaves much behind; then calls for two looks, then none. */
const RUSH = `
  import { Server } from 'node:http';
  import { setTimeout as sleep } from 'node:timers/promises';
  import { giveBackAtRest } from './src/runtime/rest.ts';
  const server = new Server();
  let calls = 0;
  server.on('request', () => calls++);
  giveBackAtRest(server);
  const calling = setInterval(() => server.emit('request'), 20);
  let kept = Array.from({ length: 1_000_000 }, (_, i) => ({ i, text: 'x' + i }));
  kept = null;
  const after = process.memoryUsage.rss();
  while (calls < 110) await sleep(20);
  const called = process.memoryUsage.rss();
  clearInterval(calling);
  const until = performance.now() + 10_000;
  while (process.memoryUsage.rss() > 0.7 * after && performance.now() < until) await sleep(20);
  console.log(JSON.stringify({ after, called, rested: process.memoryUsage.rss() }));
`;

test('what a rush leaves behind is given back when nobody calls any more, and not before', () => {
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', RUSH], { encoding: 'utf8' });
  const { after, called, rested } = JSON.parse(printed) as { after: number; called: number; rested: number };
  ok(called > 0.9 * after, `${printed.trim()}: it was given back while there were calls`);
  ok(rested <= 0.7 * after, `${printed.trim()}: it was not given back`);
});
