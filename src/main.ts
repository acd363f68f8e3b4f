import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { basename, join } from 'node:path';
import { styleText } from 'node:util';
import type { GlobalFlags, Host } from './cli/host.ts';
import { run } from './cli/run.ts';
import { describe, fromProcess } from './config.ts';
import { systemClock } from './runtime/clock.ts';

const out = {
  print: (line: string) => void process.stdout.write(`${line}\n`),
  warn: (line: string) => void process.stderr.write(`${line}\n`),
};

/** A manager that does not answer by then is left alone. */
const TOOL_LIMIT_MS = 30_000;

// The server is loaded only by the commands that need it, so that all others start at once.
const host: Host = {
  stdout: process.stdout,
  stderr: process.stderr,
  // Opened when it is read: only then may it hold up the end of a command.
  get stdin() {
    return process.stdin;
  },
  // Node's own judgement of the terminal, NO_COLOR and FORCE_COLOR.
  colours: styleText('bold', 'x', { stream: process.stdout }) !== 'x',
  version: version(),
  clock: systemClock(),
  server(flags) {
    const { url, token, host, port, dataDir, tokens } = fromProcess(dataDirOf(flags));
    const { head, left_claw: left, right_claw: right } = tokens;
    return { url, token, host, port, dataDir, tokens: { head, 'left-claw': left, 'right-claw': right } };
  },
  settings: (flags) => describe(fromProcess(dataDirOf(flags))),
  async serve({ host, port, dataDir }) {
    const config = fromProcess({ host, port, dataDir });
    const { serve } = await import('./app.ts');
    await serve(config, out, process.stdout.isTTY);
  },
  async worker(order, flags) {
    const config = fromProcess(dataDirOf(flags));
    const { runWorker } = await import('./app/worker-process.ts');
    await runWorker(order, config, version());
  },
  slotId: (flags) => fromProcess(dataDirOf(flags)).slotId,
  async rebuild(flags, say) {
    const config = fromProcess(dataDirOf(flags));
    const { rebuild } = await import('./app/rebuild.ts');
    const { systemIds } = await import('./runtime/ids.ts');
    await rebuild(config, say, systemClock(), systemIds());
  },
  async renewTokens(flags) {
    const config = fromProcess(dataDirOf(flags));
    const { renewTokens } = await import('./app/renew-tokens.ts');
    const { systemIds } = await import('./runtime/ids.ts');
    return renewTokens(config, systemClock(), systemIds());
  },
  async backup(request, flags) {
    const config = fromProcess(dataDirOf(flags));
    const { backup } = await import('./app/backup.ts');
    return backup(config, request, { version: version(), now: host.clock.now() });
  },
  async deepCheck(flags) {
    const config = fromProcess(dataDirOf(flags));
    const { deepCheck } = await import('./app/deep-check.ts');
    return deepCheck(config);
  },
  machine: () => ({
    platform: process.platform,
    home: homedir(),
    node: process.execPath,
    entry: join(import.meta.dirname, '../bin/spine.cjs'),
    isRoot: process.getuid?.() === 0,
    user: userName(),
  }),
  runTool(tool, args) {
    const { status, error } = spawnSync(tool, args, { stdio: 'ignore', timeout: TOOL_LIMIT_MS });
    return error === undefined ? (status ?? 1) : null;
  },
  onInterrupt(task) {
    process.once('SIGINT', task);
    return () => void process.off('SIGINT', task);
  },
  exit: (code) => process.exit(code),
};

function dataDirOf({ dataDir }: GlobalFlags): { dataDir: string | undefined } {
  return { dataDir };
}

// `spine config | head -1` closes the pipe early, which is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.exitCode = await main(process.argv);

async function main([, entry = '', ...args]: readonly string[]): Promise<number> {
  if (basename(entry).startsWith('openclaw-scheduler')) {
    const { buildSchedulerProgram } = await import('./cli/scheduler/program.ts');
    return await run(host, args, buildSchedulerProgram);
  }
  return await run(host, args);
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  // npm refuses to install a package without a version.
  return (JSON.parse(manifest) as { version: string }).version;
}

/** An account of a container may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? '');
  }
}
