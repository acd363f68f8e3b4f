import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { cloneWithoutPackages } from './support/clone.ts';
import { packed, plainEnvironment } from './support/package.ts';
import { blockOf } from './support/reader.ts';
import { installed, INSTALLED_WITHIN_MS } from './support/installed.ts';

const REPO = join(import.meta.dirname, '..');

interface Manifest {
  readonly version: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}
interface Locked extends Manifest {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
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

test('packages that stand apart are named in one version, with a sum', () => {
  for (const set of ['verifiers', 'nodes']) {
    const { devDependencies, optionalDependencies } = manifestOf('test', set);
    const lock = read('test', set, 'package-lock.json') as { packages: Readonly<Record<string, Locked>> };
    const named = Object.entries({ ...devDependencies, ...optionalDependencies });
    assert.ok(named.length > 0);
    for (const [name, version] of named)
      assert.equal(lock.packages[`node_modules/${name}`]?.version, version.replace(/^npm:.*@/, ''), name);
    for (const [path, { integrity, resolved }] of Object.entries(lock.packages))
      if (path !== '') assert.match(`${integrity} ${resolved}`, /^sha512-[\w+/]{86}== undefined$/, path);
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
  const sums = read('bin/node-sums.json') as Record<string, string>;
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

const LOCKED_FOR_USERS = Object.entries(packages).filter(
  ([path, { dev }]) =>
    path !== '' && !dev && !(path.slice('node_modules/'.length) in (manifest.optionalDependencies ?? {})),
);

test('every package that users install runs on Node 20, as ours says it does [SC-94]', () => {
  assert.equal(manifest.engines?.['node'], '>=20');
  assert.ok(LOCKED_FOR_USERS.length > 50);
  const newer = LOCKED_FOR_USERS.filter(([, { engines }]) => {
    // The ranges that these packages have: the least major of one is the first number of an alternative.
    const least = (engines?.['node'] ?? '0').split('||').map((range) => Number(/\d+/.exec(range)?.[0] ?? 0));
    return Math.min(...least) > 20;
  });
  assert.deepEqual(newer, []);
});

/** npm itself runs on the machine's own Node, which it names; the tests run on the one that came with the package. */
const NODE = process.env['npm_node_execpath'] ?? 'node';

const verifiers = await installed('verifiers');

test('the package that npm makes', { timeout: INSTALLED_WITHIN_MS }, async (t) => {
  const { clone, file, remove } = packed();
  t.after(remove);
  const project = join(clone, 'project');
  const inside = join(project, 'node_modules/openclaw-spine');
  const env = {
    ...plainEnvironment(clone),
    // The machine's own Node first, as in a shell.
    PATH: `${dirname(NODE)}:${process.env['PATH']}`,
    // Nobody is asked for anything.
    npm_config_registry: 'http://127.0.0.1:9',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  };
  const run = (command: string): string =>
    execFileSync('/bin/sh', ['-c', command], { cwd: project, env, encoding: 'utf8' });
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"scripts":{"which":"node --version"}}');
  const before = run('npm run --silent which');

  await t.test('leaves the clone as it was', () => {
    assert.equal(
      readFileSync(join(clone, 'package.json'), 'utf8'),
      readFileSync(join(REPO, 'package.json'), 'utf8'),
    );
    assert.equal(existsSync(join(clone, 'package.json.kept')), false);
    assert.deepEqual(readdirSync(join(clone, 'dist')).toSorted(), ['client', 'client-commonjs']);
  });

  const skip = 'missing' in verifiers ? verifiers.missing : false;
  await t.test('is clean for publint and for “are the types wrong”', { skip }, () => {
    if ('missing' in verifiers) return;
    const folder = join(clone, 'judge');
    const judge = join(folder, 'judge.mjs');
    mkdirSync(folder);
    symlinkSync(verifiers.modules, join(folder, 'node_modules'));
    writeFileSync(judge, JUDGE);
    const said = (tarball: string): string => run(`'${process.execPath}' '${judge}' '${tarball}'`);
    assert.equal(said(file), '[]\n');
    // Both can find something.
    const broken = join(clone, 'broken');
    mkdirSync(broken);
    run(
      `tar -xzf '${file}' -C '${broken}' package/package.json package/dist/client package/dist/client-commonjs`,
    );
    rmSync(join(broken, 'package/dist/client-commonjs/package.json'));
    run(`tar -czf '${broken}.tgz' -C '${broken}' package`);
    assert.match(said(`${broken}.tgz`), /CJSResolvesToESM/);
    assert.match(said(`${broken}.tgz`), /FILE_INVALID_FORMAT/);
  });

  await t.test('is installed by npm without a warning, without a registry, with strict engines', () => {
    const { stdout, stderr, status } = spawnSync('npm', ['install', '--engine-strict', file], {
      cwd: project,
      env,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    assert.equal(stderr, '');
    assert.match(stdout, /^\nadded 1 package in /);
  });

  await t.test('does not change the Node of its user’s project', () => {
    const linked = readdirSync(join(project, 'node_modules/.bin')).toSorted();
    assert.deepEqual(linked, ['openclaw-scheduler', 'openclaw-spine', 'spine']);
    assert.equal(run('npm run --silent which'), before);
    assert.equal(run('npx --no -- spine --version'), `${manifest.version}\n`);
  });

  await t.test('brings every package along in the version of the lock, and none beside them', () => {
    const brought = new Map(
      globSync('node_modules/**/package.json', { cwd: inside })
        .filter((path) => /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
        .map((path) => [dirname(path), manifestIn(join(inside, path)).version]),
    );
    assert.deepEqual(
      [...brought].map(String).toSorted(),
      LOCKED_FOR_USERS.map(([path, { version }]) => `${path},${version}`).toSorted(),
    );
  });

  await t.test('says nothing of how it is developed', () => {
    const published = JSON.parse(readFileSync(join(inside, 'package.json'), 'utf8')) as object;
    const fields = ['scripts', 'devDependencies', 'optionalDependencies', 'allowScripts', 'overrides'];
    assert.deepEqual(
      fields.filter((field) => field in published),
      [],
    );
  });

  await t.test('has all the pages and pictures that its pages link to', () => {
    const pages = globSync('{*.md,docs/**/*.md}', { cwd: inside });
    assert.ok(pages.length > 15);
    const dead = pages.flatMap((page) =>
      [...readFileSync(join(inside, page), 'utf8').matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)]
        .map(([, to = '']) => to)
        .filter((to) => !/^https?:/.test(to) && !existsSync(join(inside, dirname(page), to)))
        .map((to) => `${page}: ${to}`),
    );
    assert.deepEqual(dead, []);
  });

  await t.test('gives browsers a client without anything of Node’s', () => {
    const entry = exportFor(inside, 'browser');
    const reached = new Set<string>();
    const strange: string[] = [];
    const walk = (path: string): void => {
      if (reached.has(path)) return;
      reached.add(path);
      for (const to of importsOf(path)) {
        if (to.startsWith('.')) walk(join(dirname(path), to));
        else strange.push(`${path}: ${to}`);
      }
    };
    walk(join(inside, entry));
    assert.ok(reached.size > 15);
    assert.deepEqual(strange, []);
    assert.deepEqual(
      [...reached].filter((path) => /\bprocess\.|\bBuffer\b|\brequire\(/.test(readFileSync(path, 'utf8'))),
      [],
    );
  });

  await t.test('gives its client to import and to require', () => {
    const names = 'Object.keys(client).sort().join()';
    const imported = run(
      `node --input-type=module -e "import * as client from 'openclaw-spine/client'; console.log(${names})"`,
    );
    const required = run(`node -e "const client = require('openclaw-spine/client'); console.log(${names})"`);
    assert.equal(required, imported);
    assert.match(imported, /\bSpineClient\b.*\bWorker\b/);
    const browsers = `node --conditions=browser --input-type=module -e "import * as client from 'openclaw-spine/client'; console.log(${names})"`;
    assert.equal(run(browsers), imported);
  });

  await t.test('has types for modules, bundlers and CommonJS, under which a typed worker compiles', () => {
    symlinkSync(join(REPO, 'node_modules/@types'), join(project, 'node_modules/@types'));
    writeFileSync(join(project, 'module.mts'), TYPED);
    writeFileSync(join(project, 'common.cts'), TYPED);
    writeFileSync(join(project, 'bundled.ts'), TYPED);
    const compile = (options: string): string =>
      run(
        `'${process.execPath}' '${REPO}/node_modules/typescript/bin/tsc' --ignoreConfig --noEmit --strict --target es2022 --types node ${options} 2>&1 || true`,
      );
    assert.equal(compile('--module nodenext module.mts common.cts'), '');
    assert.equal(compile('--module esnext --moduleResolution bundler bundled.ts'), '');
    assert.equal(
      compile('--module esnext --moduleResolution bundler --customConditions browser bundled.ts'),
      '',
    );
    const guide = blockOf(
      'docs/guides/workers.md',
      "import { SpineClient, Worker } from 'openclaw-spine/client';\n\ninterface Work",
    );
    const printed = {
      guide,
      readme: blockOf('README.md', 'import { SpineClient, Worker }'),
      ...Object.fromEntries(
        globSync('examples/*.mjs', { cwd: REPO }).map((name) => [
          basename(name, '.mjs'),
          readFileSync(join(REPO, name), 'utf8'),
        ]),
      ),
    };
    assert.ok(Object.keys(printed).length > 5);
    for (const [name, text] of Object.entries(printed)) {
      writeFileSync(join(project, `printed-${name}.${name === 'guide' ? 'mts' : 'mjs'}`), text);
      writeFileSync(join(project, `bundled-${name}.${name === 'guide' ? 'ts' : 'js'}`), text);
      // CommonJS waits for nothing at its top.
      const [, imports = '', rest = ''] = /^((?:import [^;]*;\n|\n)*)([^]*)$/.exec(text) ?? [];
      const required = imports.replaceAll(
        /^import (\{[^}]*\}) from ([^;]*)/gm,
        (_, names: string, from: string) =>
          name === 'guide'
            ? `import ${names} from ${from}`
            : `const ${names.replaceAll(' as ', ': ')} = require(${from})`,
      );
      const wrapped = `${required}async function main() {\n${rest}}\nvoid main();\n`;
      writeFileSync(join(project, `printed-${name}.${name === 'guide' ? 'cts' : 'cjs'}`), wrapped);
    }
    // Our own declarations were checked above.
    const checked = '--allowJs --checkJs --skipLibCheck';
    assert.equal(compile(`--module nodenext ${checked} printed-*`), '');
    assert.equal(compile(`--module esnext --moduleResolution bundler ${checked} bundled-*`), '');
    // A wrong field is seen in JavaScript, too.
    const misread = printed.readme.replaceAll('params?.name', 'params?.nam');
    writeFileSync(join(project, 'misread.mjs'), misread);
    // The check itself can fail.
    writeFileSync(join(project, 'wrong.mts'), TYPED.replace('width: 100', "width: 'wide'"));
    const complaints = compile(`--module nodenext ${checked} misread.mjs wrong.mts`);
    assert.match(complaints, /Property 'nam' does not exist/);
    assert.match(complaints, /^wrong\.mts/m);
    assert.match(complaints, /not assignable to type 'number'/);
  });
});

test('what is packed says where the clone came from, if others can reach that, and its README leads there', (t) => {
  const clone = cloneWithoutPackages();
  t.after(() => rmSync(clone, { recursive: true, force: true }));
  mkdirSync(join(clone, 'dist'));
  const git = (...args: string[]) => execFileSync('git', args, { cwd: clone });
  const pack = (...args: string[]) =>
    execFileSync(process.execPath, ['scripts/pack.ts', ...args], { cwd: clone, stdio: 'pipe' });
  const text = (name: string): string => readFileSync(join(clone, name), 'utf8');
  const said = () => (JSON.parse(text('package.json')) as { repository?: unknown }).repository;
  git('init', '-q');
  pack();
  assert.deepEqual([said(), text('README.md')], [undefined, readFileSync(join(REPO, 'README.md'), 'utf8')]);
  git('remote', 'add', 'origin', '../elsewhere');
  for (const [origin, address] of [
    ['../elsewhere', null],
    ['http://127.0.0.1:3000/secret/place.git', null],
    ['git@example.com:claws/spine.git', 'https://example.com/claws/spine'],
    ['ssh://git@example.com/claws/spine', 'https://example.com/claws/spine'],
    ['https://ada:secret-password@example.com/claws/spine.git', 'https://example.com/claws/spine'],
  ] as const) {
    git('remote', 'set-url', 'origin', origin);
    pack();
    const url = `git+${address}.git`;
    assert.deepEqual(said(), address === null ? undefined : { type: 'git', url }, origin);
    const links = [...text('README.md').matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => to);
    assert.ok(links.length > 20);
    const relative = links.filter((to) => !to.startsWith('https://'));
    assert.equal(relative.length > 20, address === null, origin);
    if (address !== null) assert.deepEqual(relative, []);
    assert.doesNotMatch(text('README.md') + text('package.json'), /secret/);
  }
  const page = text('README.md');
  assert.ok(page.includes('](https://example.com/claws/spine/blob/HEAD/docs/guides/http-api.md)'));
  assert.ok(page.includes('](https://example.com/claws/spine/raw/HEAD/docs/guides/performance.svg)'));
  pack('--restore');
  for (const name of ['README.md', 'package.json'])
    assert.equal(text(name), readFileSync(join(REPO, name), 'utf8'));
});

/** What both have to say of a tarball, suggestions as well. */
const JUDGE = `
import { readFileSync } from 'node:fs';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
const tarball = new Uint8Array(readFileSync(process.argv[2]));
const { problems } = await checkPackage(createPackageFromTarballData(tarball));
const { messages } = await publint({ pack: { tarball: tarball.buffer }, strict: true, level: 'suggestion' });
console.log(JSON.stringify([...problems.map(({ kind }) => kind), ...messages.map(({ code }) => code)]));
`;

/** Each line with an error in it says so; were one none, the compiler would complain about that. */
const TYPED = `
import { SpineClient, Worker } from 'openclaw-spine/client';

interface Work {
  resize: { spec: { file: string; width: number }; result: { url: string } };
  greet: { params: { name: string } };
}
export const client = new SpineClient<Work>({ baseUrl: process.env.SPINE_URL, token: process.env.SPINE_TOKEN });

export async function calls(): Promise<string | undefined> {
  const job = await client.jobs.create({ type: 'resize', spec: { file: 'a.png', width: 100 } });
  await client.jobs.create({ type: 'greet', params: { name: 'you' }, priority: 3 });
  // @ts-expect-error -- its spec is missing
  await client.jobs.create({ type: 'resize' });
  // @ts-expect-error -- a width is a number
  await client.jobs.create({ type: 'resize', spec: { file: 'a.png', width: '1' } });
  // @ts-expect-error -- there is no such type
  await client.jobs.create({ type: 'shrink', spec: {} });
  const ran = await client.jobs.run({ type: 'resize', spec: { file: 'a.png', width: 1 } }, { waitMs: 1 });
  if (ran.ended) console.log(ran.result?.url);
  // @ts-expect-error -- it has another result
  console.log(ran.result?.uri);
  // @ts-expect-error -- there is no such type
  await client.jobs.run({ type: 'resiz', spec: { file: 'a.png', width: 1 } });
  // @ts-expect-error -- its spec is missing
  await client.jobs.run({ type: 'resize' });
  const waited = await client.jobs.wait(ran.id);
  if (waited.type === 'resize') console.log(waited.result?.url, waited.spec.width);
  // @ts-expect-error -- it may be one of the others
  console.log(waited.spec.width);
  const [claimed] = await client.jobs.claimNext({ types: ['resize'] });
  if (claimed) {
    await client.jobs.complete(claimed, { result: { url: claimed.spec.file } });
    // @ts-expect-error -- it has another result
    await client.jobs.complete(claimed, { result: { uri: '' } });
  }
  for await (const one of client.jobs.list()) if (one.type === 'resize') console.log(one.spec.width);
  return job.result?.url;
}

export const one = new Worker({
  client,
  types: ['resize'],
  handler: async (job, { signal, log, upload, needTime }) => {
    log(String(signal.aborted));
    await needTime(60_000);
    const { id } = await upload(job.spec.file, { filename: 'a.png' });
    return { url: id };
  },
});
export const each = new Worker({
  client,
  handler: { resize: (job) => ({ url: job.spec.file }), greet: (job) => job.params?.name },
});
// @ts-expect-error -- the result of resize is another one
export const wrong = new Worker({ client, types: ['resize'], handler: () => 'done' });
export const any = new Worker({ client, handler: (job) => ({ url: job.type === 'resize' ? job.spec.file : '' }) });
export const untyped = new Worker({ client: new SpineClient(), types: ['any'], handler: (job) => ({ said: job.spec }) });
`;

function manifestIn(file: string): Manifest {
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
}

function exportFor(folder: string, condition: string): string {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports: Record<string, Record<string, { default: string }>>;
  };
  return exports['./client']?.[condition]?.default ?? assert.fail(`no export for ${condition}`);
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)['"]([^'"]+)['"]/g)].map(([, to = '']) => to);
}
