import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SpineError } from '../../src/domain/error.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import { emailKeyOf, freshName, isEmail } from '../../src/domain/user.ts';
import { claimsOf, signed } from '../../src/engine/jwt.ts';
import {
  DIALECTS,
  HEAD,
  onEvery,
  type Opened,
  refused as refusal,
  SQLITE_MEMORY,
} from '../support/engines.ts';

const ANNA = { email: 'Anna@Example.org', password: 'correct horse', fullName: 'Anna Muster', worker: true };
const HOUR_MS = 3_600_000;

const logIn = ({ engine }: Opened, password = ANNA.password, email = ANNA.email, address = '192.0.2.1') =>
  engine.logins.logIn(address, email, password);

onEvery(DIALECTS, (each) => {
  each('lets a user in with its password, whatever the case of its address [TQ-13]', async (spine) => {
    const anna = await spine.engine.users.add(HEAD, ANNA);
    assert.deepEqual([anna.name, anna.worker, anna.admin, anna.active], ['anna-muster', true, false, true]);
    assert.match(anna.passwordHash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.ok(!anna.passwordHash.includes(ANNA.password));
    const { accessToken, expiresInMs, user } = await logIn(spine, ANNA.password, 'aNNA@example.ORG');
    assert.deepEqual([expiresInMs, user.id], [HOUR_MS, anna.id]);
    assert.equal((await spine.engine.logins.userBehind(accessToken))?.id, anna.id);
    for (const [email, password] of [
      [ANNA.email, 'wrong'],
      ['nobody@example.org', ANNA.password],
    ] as const) {
      const error = await refusal(logIn(spine, password, email));
      assert.deepEqual([error.code, error.details['problem']], ['unauthorized', 'Invalid email or password']);
    }
    const [agent] = await spine.engine.agents.list();
    assert.equal(agent?.id, 'anna-muster');
    const taken = await refusal(spine.engine.users.add(HEAD, { ...ANNA, email: 'ANNA@example.org' }));
    assert.equal(taken.code, 'conflict');
  });

  each('says in an access token what the text says, and ends it after an hour [TQ-13]', async (spine) => {
    const anna = await spine.engine.users.add(HEAD, { ...ANNA, admin: true });
    const { accessToken } = await logIn(spine);
    const claims = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()) as Record<
      string,
      unknown
    >;
    const iat = Math.floor(spine.engine.now() / 1_000);
    assert.deepEqual(
      [claims['user_id'], claims['sub'], claims['email'], claims['is_admin'], claims['iss']],
      [anna.id, anna.id, ANNA.email, true, 'investorcenter.ai'],
    );
    assert.deepEqual([claims['iat'], claims['nbf'], claims['exp']], [iat, iat, iat + 3_600]);
    await spine.clock.advance(HOUR_MS - 2_000);
    assert.notEqual(await spine.engine.logins.userBehind(accessToken), null);
    await spine.clock.advance(2_000);
    assert.equal(await spine.engine.logins.userBehind(accessToken), null);
  });

  each('renews a login with a token that is good for nothing else, until it is ended', async (spine) => {
    await spine.engine.users.add(HEAD, ANNA);
    const { logins } = spine.engine;
    const { accessToken, refreshToken } = await logIn(spine);
    assert.equal(await logins.userBehind(refreshToken), null);
    assert.equal((await refusal(logins.refresh(accessToken))).code, 'unauthorized');
    await spine.clock.advance(2 * HOUR_MS);
    const again = await logins.refresh(refreshToken);
    assert.notEqual(await logins.userBehind(again.accessToken), null);
    const other = await logIn(spine);
    await logins.logOut(refreshToken);
    assert.equal((await refusal(logins.refresh(refreshToken))).code, 'unauthorized');
    assert.notEqual((await logins.refresh(other.refreshToken)).accessToken, '');
    await spine.clock.advance(168 * HOUR_MS);
    assert.equal((await refusal(logins.refresh(other.refreshToken))).code, 'unauthorized');
  });

  each('ends what somebody was logged in by with a new password, and with the account', async (spine) => {
    const { users, logins } = spine.engine;
    await users.add(HEAD, ANNA);
    const first = await logIn(spine);
    await users.change(HEAD, ANNA.email, { password: 'battery staple' });
    assert.equal(await logins.userBehind(first.accessToken), null);
    assert.equal((await refusal(logins.refresh(first.refreshToken))).code, 'unauthorized');
    assert.equal((await refusal(logIn(spine))).code, 'unauthorized');
    const second = await logIn(spine, 'battery staple');
    await users.remove(HEAD, ANNA.email);
    assert.equal(await logins.userBehind(second.accessToken), null);
    assert.equal((await refusal(logins.refresh(second.refreshToken))).code, 'unauthorized');
    assert.equal((await refusal(logIn(spine, 'battery staple'))).code, 'unauthorized');
    assert.deepEqual(await users.list(), []);
    const back = await users.add(HEAD, { ...ANNA, fullName: 'Somebody Else' });
    assert.deepEqual([back.id, back.name], [first.user.id, 'anna-muster']);
  });

  each('gives no name twice: tokens, agents and users share them', async (spine) => {
    const { users, tokens, agents } = spine.engine;
    await tokens.add(HEAD, { name: 'robot', role: 'worker', targets: null });
    await agents.register(HEAD, { id: 'robot-2' });
    const robot = await users.add(HEAD, { ...ANNA, fullName: 'Robot' });
    assert.equal(robot.name, 'robot-3');
    const stolen = await refusal(tokens.add(HEAD, { name: 'robot-3', role: 'head', targets: null }));
    assert.equal(stolen.code, 'conflict');
    // Without a lease token a name says who holds a job.
    for (const name of ['head', 'bridge', 'scheduler', 'any'])
      assert.equal(
        (await refusal(tokens.add(HEAD, { name, role: 'worker', targets: null }))).code,
        'conflict',
      );
    await tokens.add(HEAD, { name: 'left-claw', role: 'worker', targets: null });
  });

  each('signs for all servers of an installation with one secret', async (spine) => {
    const other = spine.another === null ? spine : await spine.another();
    await spine.engine.users.add(HEAD, ANNA);
    const { accessToken } = await logIn(spine);
    assert.notEqual(await other.engine.logins.userBehind(accessToken), null);
    if (other !== spine) await other.close();
  });
});

// Failures are counted by each server for itself: the store has no hand in it.
onEvery([SQLITE_MEMORY], (each) => {
  each('stops guessing after twenty failures of one account, however many come at once', async (spine) => {
    await spine.engine.users.add(HEAD, ANNA);
    const wrong = await Promise.all(Array.from({ length: 25 }, () => refusal(logIn(spine, 'wrong'))));
    assert.equal(wrong.filter(({ code }) => code === 'unauthorized').length, 20);
    const refused = wrong.filter(({ code }) => code === 'rate_limited');
    assert.deepEqual([refused.length, refused[0]?.details['retryAfterS']], [5, 300]);
    assert.equal((await refusal(logIn(spine))).code, 'rate_limited');
    // Whoever shares the address is not locked out with it.
    await spine.engine.users.add(HEAD, { ...ANNA, email: 'bob@example.org' });
    assert.equal((await logIn(spine, ANNA.password, 'bob@example.org')).user.name, 'anna-muster-2');
    await spine.clock.advance(300_000);
    assert.equal((await logIn(spine)).user.email, ANNA.email);
  });

  each('counts no try whose password nobody had the time to look at', async (spine) => {
    await spine.engine.users.add(HEAD, ANNA);
    const tries = Array.from({ length: LIMITS.waitingLogins + 10 }, (_, n) =>
      logIn(spine, 'wrong', `nobody-${n}@example.org`).catch((error: SpineError) => error.code),
    );
    for (let round = 0; round < 3; round++) {
      const own = Array.from({ length: 15 }, () => refusal(logIn(spine)));
      assert.deepEqual(new Set((await Promise.all(own)).map(({ code }) => code)), new Set(['overloaded']));
    }
    await Promise.all(tries);
    assert.equal((await logIn(spine)).user.email, ANNA.email);
  });

  each('still tells who is known when the memory of names is full', async (spine) => {
    const anna = await spine.engine.users.add(HEAD, ANNA);
    const calls = (names: readonly string[]) => spine.engine.users.called([anna.name, ...names]);
    assert.deepEqual([...(await calls([])).keys()], [anna.name]);
    const many = Array.from({ length: 4 * LIMITS.users }, (_, n) => `token-${n}`);
    assert.deepEqual([...(await calls(many)).keys()], [anna.name]);
  });

  each('counts no login that was right, however many bots share an address', async (spine) => {
    await spine.engine.users.add(HEAD, ANNA);
    for (let n = 0; n < 21; n++) await logIn(spine);
    assert.equal((await spine.store.read.users.all())[0]?.lastLoginAt, spine.engine.now());
  });
});

test('takes a token for nothing unless its signature is HS256 of our secret', () => {
  const secret = 's'.repeat(32);
  const token = signed({ user_id: 'a' }, secret);
  assert.deepEqual(claimsOf(token, secret), { user_id: 'a' });
  const [header = '', payload = '', signature = ''] = token.split('.');
  const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
  const other = Buffer.from('{"user_id":"b"}').toString('base64url');
  for (const bad of [
    `${none}.${payload}.`,
    `${none}.${payload}.${signature}`,
    `${header}.${other}.${signature}`,
    `${header}.${payload}`,
    `${token}.x`,
    `${header}.${payload}.${signature.slice(0, -2)}`,
    signed({ user_id: 'a' }, 't'.repeat(32)),
    '',
    '..',
    'x'.repeat(5_000),
  ])
    assert.equal(claimsOf(bad, secret), null, bad);
});

test('makes a name from what people call a user, else from its address', () => {
  const names = [
    freshName('Zoë  Müller', 'z@x.org', new Set()),
    freshName('李', 'li.wei@x.org', new Set()),
    freshName('李', '李@x.org', new Set(['user'])),
    freshName('Head', 'h@x.org', new Set()),
    freshName('-- any --', 'h@x.org', new Set(['any-2'])),
  ];
  assert.deepEqual(names, ['zoe-muller', 'li-wei', 'user-2', 'head-2', 'any-3']);
  assert.equal(emailKeyOf('A@B.org'), 'a@b.org');
  assert.deepEqual(['a@b', 'a b@c', 'a@b@c', '@b', 'a@', 'x'].map(isEmail), [
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});
