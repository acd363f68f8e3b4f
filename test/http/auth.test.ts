import { deepStrictEqual, doesNotMatch, match, strictEqual } from 'node:assert';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { suite, test } from 'node:test';
import { authenticator, credentialsOf } from '../../src/http/auth.ts';
import { startServer } from '../support/server.ts';

const tokens = { head: ['head-old', 'head-new'], left_claw: ['left'], right_claw: ['right', ''] };
const authenticate = authenticator(credentialsOf(tokens));

suite('bearer tokens', () => {
  test('[SP-08 SP-09 SP-10] stand for their roles, who may serve their own targets', () => {
    deepStrictEqual(authenticate('Bearer head-old'), { name: 'head', role: 'head', targets: null });
    deepStrictEqual(authenticate('Bearer left'), {
      name: 'left-claw',
      role: 'worker',
      targets: ['left-claw', 'any'],
    });
    deepStrictEqual(authenticate('Bearer right'), {
      name: 'right-claw',
      role: 'worker',
      targets: ['right-claw', 'any'],
    });
  });

  test('[SP-11] of one role are all accepted', () => {
    strictEqual(authenticate('Bearer head-new')?.name, 'head');
    strictEqual(authenticate('bearer  head-new')?.name, 'head');
  });

  test('[SP-07] are refused when anything is wrong with them', () => {
    for (const header of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Bearer  ',
      'Bearer head',
      'Bearer head-old ',
      'Bearer head-old,left',
      'Basic left',
      'left',
      'Bearer LEFT',
    ]) {
      strictEqual(authenticate(header), null, header);
    }
  });
});

/** What time tells cannot be measured in a test, so the one place for each kind of secret is read. */
suite('secrets are compared', () => {
  const sources = { 'src/http/auth.ts': 'authenticator', 'src/engine/tokens.ts': 'isSame' };
  for (const [file, name] of Object.entries(sources))
    test(`in a time that says nothing about them, in ${name} of ${file}`, () => {
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      const body = new RegExp(`function ${name}\\([^]*?\\n}\\n`).exec(text)?.[0] ?? '';
      match(body, /timingSafeEqual\(/);
      doesNotMatch(body, /\.equals\(|\.compare\(|digest\s*[!=]==|break|[lL]easeToken\s*[!=]==\s*leaseToken/);
      doesNotMatch(text, /job\.leaseToken\s*[!=]==\s*leaseToken/);
    });
});

test('a connection is known by each header that it sends, not by its first', async () => {
  await using server = await startServer();
  const { head, left } = server.tokens;
  const statuses: number[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = (path: string, authorization: string | undefined): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = authorization === undefined ? {} : { authorization };
      request(`${server.url}${path}`, { agent, headers }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      })
        .on('error', reject)
        .end();
    });
  for (const authorization of [
    `Bearer ${head}`,
    `Bearer ${head}`,
    `Bearer ${left}`,
    undefined,
    `Bearer ${head}x`,
    `Bearer ${head}`,
  ])
    statuses.push(await get('/tokens', authorization));
  agent.destroy();
  deepStrictEqual(statuses, [200, 200, 403, 401, 401, 200]);
});
