/**
 * Runs the tests against a real OpenClaw gateway, which is installed into a cache the first time.
 * Arguments are file patterns or options of `node --test`; without a pattern all of these tests run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { installOpenclaw, OPENCLAW_VERSION } from '../test/support/gateway/openclaw.ts';

const TEST_LIMIT_MS = 10 * 60 * 1000;

async function main(args: readonly string[]): Promise<number> {
  try {
    console.log(`OpenClaw ${OPENCLAW_VERSION}, installed once into a cache`);
    await installOpenclaw();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`Tests on a real gateway are skipped: ${reason}`);
    return process.env['CI'] === 'true' ? 1 : 0;
  }
  // One at a time: a gateway that starts takes both cores of a small machine, and the tests look at times.
  const options = [
    '--test',
    '--test-concurrency=1',
    `--test-timeout=${TEST_LIMIT_MS}`,
    '--test-reporter=spec',
  ];
  const patterns = args.some((arg) => !arg.startsWith('-')) ? [] : ['test/**/*.gateway.ts'];
  const child = spawn(process.execPath, [...options, ...args, ...patterns], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill(signal));
  }
  await once(child, 'exit');
  return child.exitCode ?? 1;
}

process.exitCode = await main(process.argv.slice(2));
