/** The container files, without containers: what they name is there, and a server starts on what they set. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { SETTINGS } from '../src/config.ts';
import { httpClient } from './support/http.ts';
import { freshDatabase, skipWithoutPostgres } from './support/postgres.ts';
import { blockOf } from './support/reader.ts';
import { startServer } from './support/server.ts';

const REPO = join(import.meta.dirname, '..');
const read = (name: string): string => readFileSync(join(REPO, 'docs/deploy', name), 'utf8');
const dockerfile = read('Dockerfile');

interface Service {
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes: readonly string[];
}
const compose = parse(read('compose.yaml')) as {
  readonly services: { readonly database: Service; readonly spine: Service };
  readonly volumes: object;
};
const { database, spine } = compose.services;

/** As the page has them made: in .env. */
const secrets = Object.fromEntries(
  [...blockOf('docs/guides/deploy.md', 'for name in').matchAll(/\b([A-Z_]{6,})\b/g)].map(([, name = '']) => [
    name,
    `${name.toLowerCase()}-0123456789abcdef`,
  ]),
);

function filled(text: string): string {
  return text.replaceAll(
    /\$\{(\w+)(?::\?[^}]*)?\}/g,
    (_, name: string) => secrets[name] ?? assert.fail(name),
  );
}

function healthCheck(port: number): number | null {
  const [, words = '[]'] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  const [program, ...args] = JSON.parse(words) as string[];
  assert.equal(program, 'node');
  const here = args.map((arg) => arg.replace('36725', String(port)));
  return spawnSync(process.execPath, here, { stdio: 'ignore' }).status;
}

test('the container files name settings, volumes and files that there are, and open no port to others', () => {
  const known = new Set(Object.values(SETTINGS).flatMap(({ name, aliases }) => [name, ...(aliases ?? [])]));
  const set = [...dockerfile.matchAll(/\b(SPINE_\w+)=/g)].map(([, name = '']) => name);
  for (const name of [...set, ...Object.keys(spine.environment)]) assert.ok(known.has(name), name);
  const { context = '', dockerfile: file = '' } = spine.build ?? {};
  assert.equal(join(REPO, 'docs/deploy', context), `${REPO}/`.replace(/\/$/, ''));
  assert.ok(existsSync(join(REPO, file)));
  for (const volume of [...database.volumes, ...spine.volumes])
    assert.ok((volume.split(':')[0] ?? '') in compose.volumes, volume);
  assert.deepEqual([database.ports, spine.ports], [undefined, ['127.0.0.1:36725:36725']]);
  assert.ok(spine.volumes.includes(`data:${/SPINE_DATA_DIR=(\S+)/.exec(dockerfile)?.[1]}`));
  const { bin } = JSON.parse(readFileSync(join(REPO, 'package.json'), 'utf8')) as { bin: object };
  assert.ok((/^ENTRYPOINT \["(.*)"\]$/m.exec(dockerfile)?.[1] ?? '') in bin);
  const ignored = read('Dockerfile.dockerignore').split('\n');
  for (const name of ['**/node_modules', '.git', '**/.env', 'data']) assert.ok(ignored.includes(name), name);
});

test('the secrets that the page has made are packed into nothing that is published', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-pack-'));
  t.after(() => rmSync(folder, { recursive: true }));
  copyFileSync(join(REPO, 'package.json'), join(folder, 'package.json'));
  mkdirSync(join(folder, 'docs/deploy'), { recursive: true });
  for (const name of ['.env', 'compose.yaml']) writeFileSync(join(folder, 'docs/deploy', name), 'secret');
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  assert.match(stdout, /compose\.yaml/);
  assert.doesNotMatch(stdout, /\.env/);
});

test('a server starts on what the container files set, is called by its name there, and its health is seen', {
  skip: skipWithoutPostgres,
}, async (t) => {
  const { url, drop } = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  t.after(drop);
  const { DATABASE_URL, ...others } = spine.environment;
  assert.match(filled(DATABASE_URL ?? ''), /^postgres:\/\/spine:postgres_password-\w+@database\/spine$/);
  const env = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, filled(value)]));
  const server = await startServer({ databaseUrl: url, env: { ...env, SPINE_HOST: '0.0.0.0' } });
  t.after(() => server.stop());
  const client = httpClient(server.url, { token: env['HEAD_TOKEN'] ?? '' });
  t.after(() => client.close());
  const host = { headers: { host: `spine:${server.port}` } };
  assert.equal((await client.post('/jobs', { spec: 'x' }, host)).status, 201);
  assert.equal(healthCheck(server.port), 0);
  await server.kill('SIGTERM');
  assert.equal(healthCheck(server.port), 1);
});
