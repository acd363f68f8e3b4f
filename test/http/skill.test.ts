import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { ERRORS } from '../../src/domain/error.ts';
import { keepFirstTokens } from '../../src/engine/first-tokens.ts';
import { openServer } from './server.ts';

type Spine = Awaited<ReturnType<typeof openServer>>;

const MOST_BYTES = 8_000;

/** What tells of the address by which somebody calls, of web pages, and of readiness: whoever can follow this page meets none of them. */
const NOT_FOR_AGENTS: readonly string[] = ['bad_host', 'bad_origin', 'unready'];

/** An agent that was given two settings and has read this page, and nothing else. */
suite('SKILL.md', () => {
  test('[SP-04] is short enough to be read in a prompt, and names every code that an agent can meet', () => {
    const page = readFileSync(new URL('../../SKILL.md', import.meta.url));
    ok(page.length <= MOST_BYTES, `${page.length} bytes`);
    const section = /\n## When something is refused\n([^]*?)\n## /.exec(page.toString())?.[1] ?? '';
    const rows = section.split('\n').filter((line) => /^\| \d/.test(line));
    const codes = rows.flatMap((row) =>
      [...(row.split('|')[2] ?? '').matchAll(/`(\w+)`/g)].map(([, code = '']) => code),
    );
    // All that an agent can meet, each once.
    deepStrictEqual(
      codes.toSorted(),
      Object.keys(ERRORS)
        .filter((code) => !NOT_FOR_AGENTS.includes(code))
        .toSorted(),
    );
  });

  test('[SP-04] shows nobody a token that somebody pasted into it, though its hash alone is known', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'spine-skill-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const skillMdPath = join(folder, 'SKILL.md');
    const spine = await openServer(t, () => ({ skillMdPath }));
    const made = { head: `${'h'.repeat(20)}-0123_x`, left_claw: 'l'.repeat(43), right_claw: 'r'.repeat(43) };
    await keepFirstTokens(spine.engine.core, 'here', () => made);
    const unknown = 'Zk3v9Qx7Lm2Tn8Rb5Wd1Yc6P';
    writeFileSync(skillMdPath, `Use ${made.head}, ${spine.tokens.left}, not ${unknown}.\n`);
    strictEqual(
      (await spine.anyone.get('/skill.md')).text,
      `Use $SPINE_TOKEN, $SPINE_TOKEN, not ${unknown}.\n`,
    );
  });

  test('[SP-04] is enough to do the whole loop, and to wait for the result of a child', async (t) => {
    const spine = await openServer(t);
    const blocks = await readPage(spine);
    const { body: job } = await spine.head.post<{ id: string }>('/jobs', {
      target: 'left-claw',
      spec: 'teach',
    });
    const other = doChild(spine);
    const done = await asAgent(t, spine, [
      blocks('call()'),
      blocks('# take'),
      blocks('# keep'),
      blocks('# tell'),
      blocks('# child'),
      blocks('# file'),
      blocks('# done'),
      'printf "%s" "$RESULT" > result.json',
    ]);
    await other;
    const result = JSON.parse(readFileSync(join(done, 'result.json'), 'utf8')) as Record<string, unknown>;
    deepStrictEqual([result['ended'], result['state'], result['result']], [true, 'done', { words: 7 }]);
    const { body } = await spine.head.get(`/jobs/${job.id}`);
    deepStrictEqual([body['status'], body['progress']], ['done', 'tests pass']);
    match(JSON.stringify(body['result']), /what changed and why/);
    const logs = await spine.head.get<{ logs: { text: string }[] }>(`/jobs/${job.id}/logs`);
    deepStrictEqual(
      logs.body.logs.map(({ text }) => text),
      ['read 7 files'],
    );
    const files = await spine.head.get<{ blobs: { filename: string }[] }>(`/jobs/${job.id}/blobs`);
    strictEqual(files.body.blobs[0]?.filename, 'report.pdf');
  });

  for (const [verb, state] of [
    ['failed', 'queued'],
    ['ask', 'blocked'],
    ['release', 'queued'],
    ['later', 'scheduled'],
  ]) {
    test(`[SP-04] is enough to end with: ${verb}`, async (t) => {
      const spine = await openServer(t);
      const blocks = await readPage(spine);
      const { body: job } = await spine.head.post<{ id: string }>('/jobs', { target: 'left-claw' });
      await asAgent(t, spine, [blocks('call()'), blocks('# take'), blocks(`# ${verb}`)]);
      strictEqual((await spine.head.get(`/jobs/${job.id}`)).body['state'], state);
    });
  }

  test('[SP-04] is enough to give work, to tell others, and to speak for a session', async (t) => {
    const spine = await openServer(t);
    const blocks = await readPage(spine);
    const working = doNext(spine.left, { notes: 'given' });
    await asAgent(t, spine, [blocks('call()'), blocks('# give'), blocks('# others')], {
      SPINE_TOKEN: spine.tokens.head,
    });
    await working;
    const { body } = await spine.head.get<{ jobs: { comments: unknown[]; status: string }[] }>('/jobs');
    deepStrictEqual([body.jobs[0]?.status, body.jobs[0]?.comments.length], ['done', 1]);
    const letters = await spine.head.get<{ messages: unknown[] }>('/messages');
    strictEqual(letters.body.messages.length, 1);

    const { body: job } = await spine.head.post<{ id: string }>('/jobs', { target: 'left-claw' });
    const { body: held } = await spine.left.post<{ leaseToken: string }>(`/jobs/${job.id}/claim`);
    const own = {
      SPINE_URL: spine.url,
      SPINE_JOB_ID: job.id,
      SPINE_TOKEN: `run.${job.id}.${held.leaseToken}`,
    };
    await asAgent(t, spine, [blocks('# session')], own);
    strictEqual((await spine.head.get(`/api/tasks/${job.id}`)).body['status'], 'review');
  });
});

/** The blocks of the page as it is served, by what they begin with. */
async function readPage({ anyone }: Spine): Promise<(beginning: string) => string> {
  const { text } = await anyone.get('/skill.md');
  const blocks = [...text.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, block = '']) => block);
  return (beginning) => {
    const found = blocks.filter((block) => block.startsWith(beginning));
    strictEqual(found.length, 1, beginning);
    return found[0] ?? '';
  };
}

async function doChild({ right }: Spine): Promise<void> {
  await doNext(right, { words: 7 });
}

async function doNext(worker: Spine['left'], result: unknown): Promise<void> {
  const { body } = await worker.post<{ jobs: { id: string; leaseToken: string }[] }>('/jobs/claim', {
    waitMs: 30_000,
  });
  const [job] = body.jobs;
  await worker.post(`/jobs/${job?.id}/complete`, { leaseToken: job?.leaseToken, result });
}

/** Runs the blocks one after another in one shell; answers its folder. Every call must be taken as it is. */
async function asAgent(
  t: TestContext,
  spine: Spine,
  blocks: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), 'spine-skill-'));
  t.after(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, 'report.pdf'), 'x');
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', blocks.join('\n')], {
    cwd,
    env: {
      PATH: process.env['PATH'] ?? '',
      SPINE_BASE_URL: spine.url,
      SPINE_TOKEN: spine.tokens.left,
      ...env,
    },
  });
  let said = '';
  shell.stdout.on('data', (text) => (said += String(text)));
  shell.stderr.on('data', (text) => (said += String(text)));
  const code = await new Promise((resolve) => shell.once('close', resolve));
  strictEqual(code, 0, said);
  ok(!said.includes('"hint":'), said);
  return cwd;
}
