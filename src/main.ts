import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type Actions, buildProgram } from './cli/program.ts';
import { run } from './cli/run.ts';
import { settingLines } from './cli/settings.ts';
import { describe, fromProcess } from './config.ts';

const out = {
  print: (line: string) => void process.stdout.write(`${line}\n`),
  warn: (line: string) => void process.stderr.write(`${line}\n`),
};

// The server is loaded only by the commands that need it, so that help and settings show at once.
const actions: Actions = {
  async serve(flags) {
    const config = fromProcess(flags);
    const { serve } = await import('./app.ts');
    await serve(config, out);
  },
  config({ json = false }) {
    for (const line of settingLines(describe(fromProcess()), json)) out.print(line);
  },
  async rebuild(flags) {
    const config = fromProcess(flags);
    const { rebuild } = await import('./app.ts');
    await rebuild(config, out);
  },
  async backup(file, flags) {
    const config = fromProcess(flags);
    const { backup } = await import('./app.ts');
    await backup(config, file, out);
  },
};

// `spine config | head -1` closes the pipe early, which is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.exitCode = await main(process.argv);

async function main([, entry = '', ...args]: readonly string[]): Promise<number> {
  if (basename(entry).startsWith('openclaw-scheduler')) {
    out.warn(
      'openclaw-scheduler: these commands arrive with the scheduler; see spine --help for what is here',
    );
    return 2;
  }
  return await run(buildProgram(actions, version()), args, out.warn);
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  // npm refuses to install a package without a version.
  return (JSON.parse(manifest) as { version: string }).version;
}
