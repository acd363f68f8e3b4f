import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { renewTokens } from '../../src/app/renew-tokens.ts';
import { alsoValid, sharedTokens } from '../../src/app/server-tokens.ts';
import { ConfigError, loadConfig } from '../../src/config.ts';
import { SYSTEM } from '../../src/domain/actor.ts';
import { openEngine } from '../../src/engine/open-engine.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemIds } from '../../src/runtime/ids.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { newTokens } from '../../src/tokens.ts';
import { eventually } from '../scheduler/support.ts';
import type { HttpClient } from '../support/http.ts';
import { skipWithoutPostgres } from '../support/postgres.ts';
import type { TestServer } from '../support/server.ts';
import { type Installation, madeIn, newInstallation } from './support.ts';

const refused = (what: string, client: HttpClient): Promise<true> =>
  eventually(what, 20_000, async () => ((await client.get('/jobs')).status === 401 ? true : null));
/** The greeting comes after the first answer. */
const says = (server: TestServer, words: RegExp): Promise<true> =>
  eventually(`it says ${words}`, 20_000, async () => (words.test(server.output()) ? true : null));

suite('servers on one database', { skip: skipWithoutPostgres }, () => {
  test('that start together for the first time make one set of tokens, good at all of them [SP-12]', async (t) => {
    const spine = await newInstallation(t);
    const dirs = [spine.dataDir(), spine.dataDir()];
    const servers = await Promise.all(dirs.map((dir) => spine.start(dir)));
    const sets = dirs.map(madeIn).filter((made) => made !== null);
    assert.equal(sets.length, 1, 'one of them wrote them down');
    const [tokens] = sets;
    assert.ok(tokens);
    for (const server of servers) {
      const head = spine.client(server, tokens.head);
      assert.equal((await head.post('/jobs', { target: 'left-claw' })).status, 201);
      assert.equal((await spine.client(server, tokens.left_claw).post('/jobs/claim')).status, 200);
      assert.equal((await spine.client(server, tokens.right_claw).get('/jobs')).status, 200);
      const listed = await head.get<{ tokens: { name: string; role: string }[] }>('/tokens');
      assert.deepEqual(listed.body.tokens.map(({ name, role }) => `${name} ${role}`).toSorted(), [
        'head head',
        'left-claw worker',
        'right-claw worker',
      ]);
      const isMaker = madeIn(server.dataDir) !== null;
      await says(
        server,
        isMaker ? /The tokens are in \S+tokens\.json,/ : /were made, in \S+:\S+tokens\.json$/m,
      );
      if (isMaker) assert.equal(statSync(join(server.dataDir, 'tokens.json')).mode & 0o777, 0o600);
      for (const token of Object.values(tokens)) assert.ok(!server.output().includes(String(token)));
    }
    assert.deepEqual(await tokensInside(spine.url, tokens), [], 'the database knows their hashes alone');
  });

  test('refuse a token that was revoked at any of them, or renewed beside them, and keep the others through restarts', async (t) => {
    const spine = await newInstallation(t);
    const [dirA, dirB] = [spine.dataDir(), spine.dataDir()];
    const a = await spine.start(dirA);
    const b = await spine.start(dirB);
    const old = madeIn(dirA) ?? assert.fail();
    assert.equal(madeIn(dirB), null);
    const [clawAtB, headAtB] = [spine.client(b, old.left_claw), spine.client(b, old.head)];
    assert.deepEqual([(await clawAtB.get('/jobs')).status, (await headAtB.get('/jobs')).status], [200, 200]);
    assert.equal((await spine.client(a, old.head).request('DELETE', '/tokens/left-claw')).status, 200);
    await refused('it is refused over a connection that it used before', clawAtB);
    const nobody = spine.spine(dirB, ['jobs', 'list']);
    assert.equal(nobody.code, 4, 'there is no token at this machine yet');
    assert.match(nobody.stderr, /No token was found/);

    const renewed = spine.spine(dirB, ['token', 'renew', '--yes']);
    assert.equal(renewed.code, 0, renewed.stderr);
    const fresh = madeIn(dirB) ?? assert.fail();
    assert.ok(!`${renewed.stdout}${renewed.stderr}`.includes(fresh.head));
    await refused('the old one is refused', headAtB);
    await refused('at the other server, too', spine.client(a, old.head));
    assert.match(spine.spine(dirB, ['jobs', 'add', 'Say hello']).stdout, /#1\b/);

    await Promise.all([a.restart(), b.restart()]);
    for (const server of [a, b]) {
      assert.equal((await spine.client(server, fresh.left_claw).get('/jobs')).status, 200);
      assert.equal((await spine.client(server, old.left_claw).get('/jobs')).status, 401);
    }
    assert.deepEqual([madeIn(dirA), madeIn(dirB)], [old, fresh], 'no start makes new ones');
    await says(a, /are not, or no longer, those of this installation/);
    copyFileSync(join(dirB, 'tokens.json'), join(dirA, 'tokens.json'));
    assert.equal(spine.spine(dirA, ['jobs', 'list']).code, 0);
  });

  test('let nobody in by the tokens.json of another installation that lies in a data dir', async (t) => {
    const spine = await newInstallation(t);
    const first = await opened(t, spine);
    assert.ok((await first.tokens()).fresh);
    const second = await opened(t, spine);
    mkdirSync(second.dataDir, { recursive: true });
    const foreign = newTokens(second.dataDir, randomBytes);
    foreign.put();
    const { place, warnings, known } = await second.tokens();
    assert.match(warnings[0] ?? '', /are not, or no longer, those of this installation/);
    assert.match((place as { elsewhere: string }).elsewhere, /machine-1\/tokens\.json$/);
    assert.deepEqual(known.head, []);
    assert.equal(await second.engine.tokens.actorBehind(foreign.tokens.head[0] ?? ''), null);
    assert.deepEqual(madeIn(second.dataDir)?.head, foreign.tokens.head[0], 'the file stays as it was');
  });

  test('go on with the tokens of the file when the first start died before the database knew them', async (t) => {
    const spine = await newInstallation(t);
    const first = await opened(t, spine);
    mkdirSync(first.dataDir, { recursive: true });
    const written = newTokens(first.dataDir, randomBytes);
    written.put();
    assert.deepEqual((await first.tokens()).place, 'here');
    const second = await opened(t, spine);
    assert.equal((await second.tokens()).fresh, null);
    const actor = await second.engine.tokens.actorBehind(written.tokens.right_claw[0] ?? '');
    assert.deepEqual(actor, { name: 'right-claw', role: 'worker', targets: ['right-claw', 'any'] });
  });

  test('make none where somebody can administer it already, and say which count beside those of the settings', async (t) => {
    const spine = await newInstallation(t);
    const { engine, tokens, dataDir } = await opened(t, spine);
    assert.deepEqual(await alsoValid(engine.core), []);
    await engine.tokens.add(SYSTEM, { name: 'head', role: 'head', targets: null });
    assert.deepEqual((await tokens()).place, { elsewhere: null });
    assert.equal(madeIn(dataDir), null);
    const [word = ''] = await alsoValid(engine.core);
    assert.match(word, /the one called head counts; to end it: npx spine token revoke head$/);
  });

  test('that others can reach start only once there are tokens', async (t) => {
    const spine = await newInstallation(t);
    const open = await opened(t, spine, { SPINE_HOST: '0.0.0.0' });
    await assert.rejects(open.tokens(), (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, /has no tokens yet: make them with `npx spine token renew`/);
      return true;
    });
    assert.equal(madeIn(open.dataDir), null);
    await (await opened(t, spine)).tokens();
    assert.ok((await open.tokens()).place);
  });
});

test('a claim of a worker of the settings is not judged by a revoked token that had its name', async (t) => {
  const { openSqlite } = await import('../../src/store/sqlite.ts');
  const store = openSqlite({ file: ':memory:', identity: 'settings' });
  t.after(() => store.close());
  const settings = { leaseMs: 60_000, maxAttempts: 5, maxUnfinishedJobs: 1_000 };
  for (const [configured, may] of [
    [['left-claw'], true],
    [[], false],
  ] as const) {
    const { core, tokens } = openEngine({
      store,
      clock: systemClock(),
      ids: systemIds(),
      settings,
      configured,
    });
    await tokens.add(SYSTEM, { name: 'left-claw', role: 'worker', targets: null });
    await tokens.revoke(SYSTEM, 'left-claw');
    assert.equal(await core.tokens.mayHold('left-claw', 'any', core.now()), may);
  }
});

test('renewing on SQLite says what to do instead', () => {
  const config = loadConfig({ SPINE_DATA_DIR: '/srv/one' });
  return assert.rejects(
    renewTokens(config, systemClock(), systemIds()),
    /is on SQLite: remove \/srv\/one\/tokens\.json and start the server again/,
  );
});

/** What a server of this installation does about its tokens, without the rest of it. */
async function opened(t: TestContext, spine: Installation, env: Readonly<Record<string, string>> = {}) {
  const clock = systemClock();
  const identity = { identity: 'tokens', lanes: 1, pool: 1 };
  const store = await openPostgres({ url: spine.url, clock, ...identity });
  t.after(() => store.close());
  const settings = { leaseMs: 60_000, maxAttempts: 5, maxUnfinishedJobs: 1_000 };
  const engine = openEngine({ store, clock, ids: systemIds(), settings });
  const dataDir = spine.dataDir();
  const config = loadConfig({ SPINE_DATA_DIR: dataDir, DATABASE_URL: spine.url, ...env });
  return { engine, dataDir, tokens: () => sharedTokens(config, engine.core) };
}

/** Which of these stand anywhere in the tables that could hold them. */
async function tokensInside(url: string, tokens: object): Promise<string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const found: string[] = [];
    for (const table of ['token', 'meta', 'audit', 'agent']) {
      const { rows } = await client.query(`select * from ${table}`);
      const text = JSON.stringify(rows);
      found.push(...Object.values(tokens as Record<string, string>).filter((token) => text.includes(token)));
    }
    return found;
  } finally {
    await client.end();
  }
}
