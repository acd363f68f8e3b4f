import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshClone } from './support/clone.ts';

const REPO = join(import.meta.dirname, '..');

interface Manifest {
  readonly version: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}
interface Locked extends Manifest {
  readonly integrity?: string;
  readonly resolved?: string;
}

function read(...path: string[]): unknown {
  return JSON.parse(readFileSync(join(REPO, ...path), 'utf8'));
}

function manifestOf(...path: string[]): Manifest {
  return read(...path, 'package.json') as Manifest;
}

const manifest = manifestOf();
const { packages } = read('package-lock.json') as { packages: Readonly<Record<string, Locked>> };
const stated = {
  ...manifest.dependencies,
  ...manifest.optionalDependencies,
  ...manifest.devDependencies,
};

test('every package that we name is named in one version', () => {
  assert.ok(Object.keys(stated).length > 15);
  for (const [name, version] of Object.entries(stated)) {
    assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name);
    assert.equal(packages[`node_modules/${name}`]?.version, version, name);
  }
  const { dependencies, optionalDependencies, devDependencies } = packages[''] ?? {};
  assert.deepEqual({ ...dependencies, ...optionalDependencies, ...devDependencies }, stated);
});

test('every package of the lock has a sum, and names no place to take it from', () => {
  const locked = Object.entries(packages).filter(([path]) => path !== '');
  assert.ok(locked.length > 100);
  for (const [path, { integrity, resolved }] of locked) {
    assert.match(integrity ?? '', /^sha512-[\w+/]{86}==$/, path);
    assert.equal(resolved, undefined, path);
  }
});

test('what is installed is what the lock says', () => {
  const wrong = Object.entries(packages)
    .filter(([path]) => path !== '' && existsSync(join(REPO, path, 'package.json')))
    .filter(([path, { version }]) => manifestOf(path).version !== version)
    .map(([path]) => path);
  assert.deepEqual(wrong, []);
});

test('the Node that the launcher runs is the one whose sum is written down, on every platform', () => {
  const sums = read('scripts/node-sums.json') as Record<string, string>;
  const binaries = Object.entries(manifest.optionalDependencies ?? {});
  assert.deepEqual(
    Object.keys(sums),
    binaries.map(([name, version]) => `${name}@${version}`),
  );
  const here = binaries.filter(([name]) => existsSync(join(REPO, 'node_modules', name)));
  assert.equal(here.length, 1, 'one of them is for this platform');
  for (const [name, version] of here) {
    const { node = '' } = manifestOf('node_modules', name).bin ?? {};
    const sum = createHash('sha256').update(readFileSync(join(REPO, 'node_modules', name, node)));
    assert.equal(sum.digest('hex'), sums[`${name}@${version}`], name);
  }
});

test('what is published pins every package that users install, as the lock does', (t) => {
  const clone = freshClone();
  t.after(() => rmSync(clone, { recursive: true, force: true }));
  // Without npm's own environment, which names this repository.
  const env = { PATH: process.env['PATH'], HOME: clone, npm_config_update_notifier: 'false' };
  const sh = (command: string): string =>
    execFileSync('/bin/sh', ['-c', command], { cwd: clone, env, encoding: 'utf8' });
  const { prepack = '', postpack = '' } = manifest.scripts ?? {};
  // The build before it takes its time, and has nothing to do with this.
  assert.ok(prepack.startsWith('npm run build && '));
  sh(prepack.replace('npm run build && ', ''));
  const file = sh('npm pack --silent --ignore-scripts').trim();
  sh(postpack);
  const lock = readFileSync(join(REPO, 'package-lock.json'), 'utf8');
  assert.equal(sh(`tar xzOf ${file} package/npm-shrinkwrap.json`), lock);
  assert.equal(existsSync(join(clone, 'npm-shrinkwrap.json')), false);
});
