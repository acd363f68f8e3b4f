/** A real S3 server for tests: OpenStack Swift, from the packages of Debian. */

import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface S3ForTests {
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** The one that Debian's packages belong to; another in the PATH would not find them. */
const PYTHON = '/usr/bin/python3';
const PACKAGES = ['python3-swift', 'python3-lxml'];
const INSTALL_LIMIT_MS = 5 * 60_000;
const START_LIMIT_MS = 60_000;

const run = promisify(execFile);

/** Installs it where that is needed and allowed; throws the reason why there is none. */
export async function startSwift(): Promise<S3ForTests & { readonly stop: () => Promise<void> }> {
  if (!(await isInstalled())) await install();
  const folder = await mkdtemp(join(tmpdir(), 'spine-swift-'));
  const accessKey = 'test:backup';
  const secretKey = randomBytes(12).toString('hex');
  const script = join(import.meta.dirname, 'swift-server.py');
  // It ends when its input closes: at stop(), and also when this process dies of anything.
  const child = spawn(PYTHON, [script, folder, accessKey, secretKey], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const port = await new Promise<string>((resolve, reject) => {
      let log = '';
      child.stderr.on('data', (text: Buffer) => (log = (log + text.toString()).slice(-10_000)));
      child.stdout.once('data', (line: Buffer) => resolve(line.toString().trim()));
      child.once('error', reject);
      child.once('close', () => reject(new Error(`Swift did not start: ${log}`)));
      setTimeout(() => reject(new Error(`Swift is not up yet: ${log}`)), START_LIMIT_MS).unref();
    });
    return { endpoint: `http://127.0.0.1:${port}`, accessKey, secretKey, stop };
  } catch (error) {
    child.kill('SIGKILL');
    await stop();
    throw error;
  }
}

async function isInstalled(): Promise<boolean> {
  const code = 'import swift.common.middleware.s3api.s3api, lxml';
  return run(PYTHON, ['-c', code]).then(
    () => true,
    () => false,
  );
}

async function install(): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new Error(`no S3 server: install ${PACKAGES.join(' and ')} (Debian)`);
  const apt = (...args: string[]): Promise<unknown> =>
    run('apt-get', [...args, '-o', 'DPkg::Lock::Timeout=120'], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      timeout: INSTALL_LIMIT_MS,
      maxBuffer: 64 * 1024 * 1024,
    });
  const wanted = ['install', '-y', '--no-install-recommends', ...PACKAGES];
  try {
    await apt(...wanted).catch(async () => {
      // A fresh machine has no list of packages.
      await apt('update');
      await apt(...wanted);
    });
  } catch (cause) {
    throw new Error(`no S3 server: ${PACKAGES.join(' and ')} cannot be installed`, { cause });
  }
}
