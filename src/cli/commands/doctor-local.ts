/** What can be seen without a server: this Node, the settings, the data dir and its disk. */

import { accessSync, constants, lstatSync, type Stats } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Session } from '../session.ts';
import { sizeText } from './blobs.ts';
import type { Finding } from '../host.ts';

/** node:sqlite is fit for production from these on. */
const NODE_24 = 15;
const NODE_26 = 1;

export function checkNode(): Finding {
  const version = process.versions.node;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const usable = major > 26 || (major === 26 && minor >= NODE_26) || (major === 24 && minor >= NODE_24);
  if (usable) return { check: 'node', status: 'pass', message: `Node ${version}` };
  const hint = 'Install Node 24.15 or newer.';
  return { check: 'node', status: 'fail', message: `Node ${version} is too old for the server`, hint };
}

export function checkSettings(session: Session): Finding {
  try {
    session.host.settings(session.flags);
    return { check: 'settings', status: 'pass', message: 'all settings are readable' };
  } catch (error) {
    const message = (error as Error).message.replaceAll('\n', '; ');
    return {
      check: 'settings',
      status: 'fail',
      message,
      hint: 'Correct them; docs/reference/config.md lists all.',
    };
  }
}

const READABLE_BY_OTHERS = 0o077;

export function checkDataDir(dataDir: string): Finding {
  const check = 'data dir';
  const found = lookAt(dataDir);
  if (found === null) {
    const hint = 'The first start of `npx spine serve` makes it; else name the right one with --data-dir.';
    return { check, status: 'warn', message: `${dataDir} does not exist`, hint };
  }
  if (!found.isDirectory())
    return {
      check,
      status: 'fail',
      message: `${dataDir} is no folder`,
      hint: 'Name another with --data-dir.',
    };
  if (!isWritable(dataDir))
    return {
      check,
      status: 'fail',
      message: `${dataDir} cannot be written by this user`,
      hint: `chown it to whom the server runs as.`,
    };
  if (isOpenToOthers(found))
    return {
      check,
      status: 'warn',
      message: `${dataDir} is open to other users`,
      hint: `chmod 700 ${dataDir}`,
    };
  return { check, status: 'pass', message: `${dataDir} is there, writable and private` };
}

export function checkTokensFile(dataDir: string): Finding {
  const check = 'tokens file';
  const file = join(dataDir, 'tokens.json');
  const found = lookAt(file);
  if (found === null)
    return { check, status: 'pass', message: 'no tokens.json: the tokens come from the settings' };
  if (isOpenToOthers(found))
    return {
      check,
      status: 'fail',
      message: `${file} can be read by other users`,
      hint: `chmod 600 ${file}`,
    };
  return { check, status: 'pass', message: `${file} is private` };
}

const LITTLE_BYTES = 1_073_741_824;
const TOO_LITTLE_BYTES = 104_857_600;

export async function checkDisk(dataDir: string): Promise<Finding> {
  const check = 'disk';
  try {
    const { bavail, bsize, blocks } = await statfs(lookAt(dataDir) === null ? '.' : dataDir);
    const free = bavail * bsize;
    const message = `${sizeText(free)} of ${sizeText(blocks * bsize)} free`;
    const hint = 'Free space: a full disk stops every write.';
    if (free < TOO_LITTLE_BYTES) return { check, status: 'fail', message, hint };
    return free < LITTLE_BYTES
      ? { check, status: 'warn', message, hint }
      : { check, status: 'pass', message };
  } catch (error) {
    return { check, status: 'warn', message: `the free space is unknown (${(error as Error).message})` };
  }
}

function lookAt(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Windows has no such bits and reports every file as open to all. */
function isOpenToOthers({ mode }: Stats): boolean {
  return process.platform !== 'win32' && (mode & READABLE_BY_OTHERS) !== 0;
}
