/** The description in the hands of others: a linter, and two programs that make clients of it. */

import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { installed, INSTALLED_WITHIN_MS } from '../support/installed.ts';
import { openServer } from './server.ts';

const run = promisify(execFile);
const verifiers = await installed('verifiers');
const tools = 'modules' in verifiers ? verifiers.modules : '';
const options = {
  timeout: INSTALLED_WITHIN_MS,
  skip: 'missing' in verifiers ? verifiers.missing : false,
};

const LINT = `
import { createConfig, lint } from '@redocly/openapi-core';
const config = await createConfig({ extends: ['recommended-strict'] });
const problems = await lint({ ref: process.argv[2], config });
console.log(JSON.stringify(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0].pointer])));
`;

/** Creates, claims, beats, is refused with a lease that is not its own, completes and reads. */
const CLIENTS = [
  {
    generator: 'openapi-typescript',
    make: ['node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'api.ts'],
    program: `
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

const as = (token = '') =>
  createClient<paths>({ baseUrl: process.env.URL ?? '', headers: { authorization: \`Bearer \${token}\` } });
const head = as(process.env.HEAD);
const left = as(process.env.LEFT);

const made = await head.POST('/jobs', { body: { target: 'left-claw', params: { text: 'two words' } } });
const id = made.data!.id;
const { data } = await left.POST('/jobs/claim', { body: { waitMs: 1000 } });
const [job] = data!.jobs;
const leaseToken = job!.leaseToken!;
const path = { id: job!.id };
await left.POST('/jobs/{id}/heartbeat', { params: { path }, body: { leaseToken, progress: 'counting' } });
const refused = await left.POST('/jobs/{id}/complete', { params: { path }, body: { leaseToken: 'other' } });
const text = String((job!.params as { text: string }).text);
const result = { words: text.split(' ').length };
await left.POST('/jobs/{id}/complete', { params: { path }, body: { leaseToken, result } });
const done = await head.GET('/jobs/{id}', { params: { path: { id }, query: { wait: '5s' } } });
console.log(
  JSON.stringify({
    claimed: data!.jobs.length,
    refused: refused.error!.error,
    status: done.data!.status,
    result: done.data!.result,
  }),
);
`,
  },
  {
    generator: 'swagger-typescript-api',
    make: [
      'node_modules/swagger-typescript-api/dist/cli.mjs',
      'generate',
      '-p',
      'openapi.json',
      '-n',
      'api.ts',
    ],
    program: `
import { Api, type ApiConfig, type Refusal } from './api.js';

const as = (token = '') => {
  const config: ApiConfig = {
    baseUrl: process.env.URL ?? '',
    baseApiParams: { headers: { authorization: \`Bearer \${token}\` }, format: 'json' },
  };
  return new Api(config).jobs;
};
const head = as(process.env.HEAD);
const left = as(process.env.LEFT);

const made = await head.createJob({ target: 'left-claw', params: { text: 'two words' } });
const { data } = await left.claimNext({ waitMs: 1000 });
const [job] = data.jobs;
const leaseToken = job!.leaseToken!;
await left.heartbeat(job!.id, { leaseToken, progress: 'counting' });
const refused = await left.completeJob(job!.id, { leaseToken: 'other' }).catch((answer) => answer.error as Refusal);
const text = String((job!.params as { text: string }).text);
await left.completeJob(job!.id, { leaseToken, result: { words: text.split(' ').length } });
const done = await head.getJob(made.data.id, { wait: '5s' });
console.log(
  JSON.stringify({
    claimed: data.jobs.length,
    refused: 'error' in refused ? refused.error : '',
    status: done.data.status,
    result: done.data.result,
  }),
);
`,
  },
];

suite('the description of the API, as others read it', options, () => {
  test('is clean for the linter of Redocly, which finds what is planted', async (t) => {
    const { folder, description } = await served(t);
    const lint = (file: string): Promise<string> => script(folder, [join(folder, 'lint.mjs'), file]);
    writeFileSync(join(folder, 'lint.mjs'), LINT);
    strictEqual(await lint('openapi.json'), '[]\n');
    const { '/jobs': jobs } = description.paths;
    jobs!['post']!.operationId = jobs!['get']!.operationId;
    writeFileSync(join(folder, 'wrong.json'), JSON.stringify(description));
    match(await lint('wrong.json'), /operation-operationId-unique/);
  });

  for (const { generator, make, program } of CLIENTS) {
    test(`gives ${generator} a client that compiles and does the whole loop`, async (t) => {
      const { folder, spine } = await served(t);
      await script(folder, make);
      // The types are those of the description, not `any`.
      const wrong = program.replaceAll("'left-claw'", '7');
      const complaints = (await compile(folder, { program, wrong })).split('\n').filter(Boolean);
      deepStrictEqual(
        complaints.filter((line) => !/^(wrong\.mts| )/.test(line)),
        [],
      );
      match(complaints.join('\n'), /^wrong\.mts.*TS2322.*'number' is not assignable to type 'string'/m);
      const env = { URL: spine.url, HEAD: spine.tokens.head, LEFT: spine.tokens.left };
      const said = JSON.parse(await script(folder, ['out/program.mjs'], env)) as Record<string, unknown>;
      deepStrictEqual(said, { claimed: 1, refused: 'lease_lost', status: 'done', result: { words: 2 } });
    });
  }
});

interface Operations {
  readonly paths: Record<string, Record<string, { operationId: string }>>;
}

/** A server, and a folder with what it says of itself and with the generators. */
async function served(t: TestContext) {
  const spine = await openServer(t);
  const folder = mkdtempSync(join(tmpdir(), 'spine-generated-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(tools, join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const { body, text } = await spine.anyone.get<Operations>('/openapi.json');
  writeFileSync(join(folder, 'openapi.json'), text);
  return { spine, folder, description: body };
}

async function script(cwd: string, args: readonly string[], env = {}): Promise<string> {
  const { stdout } = await run(process.execPath, args, { cwd, env: { ...process.env, ...env } });
  return stdout;
}

/** What our compiler says of programs against the client that was made; nothing of those that it is content with. */
async function compile(folder: string, programs: Readonly<Record<string, string>>): Promise<string> {
  // Of what it makes, one of them asks the compiler to look away.
  const made = join(folder, 'api.ts');
  const source = readFileSync(made, 'utf8').replace('// @ts-nocheck', '');
  ok(source.length > 100_000);
  writeFileSync(made, source);
  const files = Object.entries(programs).map(([name, text]) => {
    writeFileSync(join(folder, `${name}.mts`), text);
    return `${name}.mts`;
  });
  const tsc = resolve('node_modules/typescript/bin/tsc');
  const types = ['--typeRoots', resolve('node_modules/@types'), '--types', 'node', '--lib', 'es2022,dom'];
  const args = [
    '--ignoreConfig',
    '--strict',
    '--module',
    'nodenext',
    '--outDir',
    'out',
    '--skipLibCheck',
    ...types,
  ];
  const { stdout } = await run(process.execPath, [tsc, ...args, ...files], { cwd: folder }).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout;
}
