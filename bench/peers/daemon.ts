/** A peer's server in a process of its own, on a port of its own, gone when the measurement is. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { connect, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Missing } from './missing.ts';

const READY_WITHIN_MS = 10_000;

export interface Daemon {
  readonly port: number;
  stop(): Promise<void>;
}

/** Ready when it takes connections. */
export async function startDaemon(
  program: string,
  folder: string,
  argumentsFor: (port: number) => readonly string[],
): Promise<Daemon> {
  const file = onPath(program);
  if (file === null) throw new Missing(`${program} is not installed (on Debian: apt-get install ${program})`);
  const port = await freePort();
  const child = spawn(file, argumentsFor(port), { cwd: folder, stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  const endsMs = performance.now() + READY_WITHIN_MS;
  while (!(await answers(port))) {
    if (child.exitCode !== null || performance.now() > endsMs) throw new Error(`${program} does not start`);
    await sleep(20);
  }
  return {
    port,
    stop: async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

function onPath(program: string): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/bin'];
  return folders.map((folder) => join(folder, program)).find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
