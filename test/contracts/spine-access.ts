import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { type HttpClient, httpClient } from '../support/http.ts';
import {
  createJob,
  expectRefusal,
  expectStatus,
  runningJob,
  sharedServer,
  type Start,
} from './spine-cases.ts';

const ROTATED = 'the-second-head-token-0123456789';

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export function accessCases(start: Start): void {
  suite('access', () => {
    const server = sharedServer(start, { env: { HEAD_TOKENS: `,${ROTATED}, ,` } });

    for (const path of ['/health', '/healthz']) {
      test(`[SP-03] anyone may ask for ${path}, which shows no numbers`, async () => {
        const body = expectStatus(await server().anyone.get(path), 200);
        strictEqual(body['ok'], true);
        strictEqual(body['status'], 'healthy');
        match(String(body['time']), /^\d{4}-.*Z$/);
        strictEqual(Object.keys(body).toSorted().join(), 'ok,status,time,version');
      });
    }

    test('anyone may ask whether the server is ready, which shows no more', async () => {
      const body = expectStatus(await server().anyone.get('/ready'), 200);
      strictEqual(body['status'], 'ready');
      strictEqual(Object.keys(body).toSorted().join(), 'ok,status,version');
    });

    test('no route has anything under a name with a NUL in it, and none breaks over one', async () => {
      const { paths } = (await server().head.get<Description>('/openapi.json')).body;
      const named = Object.entries(paths).filter(([path]) => path.includes('{'));
      ok(named.length > 20, `${named.length} routes take a name`);
      for (const [path, methods] of named) {
        for (const method of Object.keys(methods)) {
          const { status } = await server().head.request(
            method.toUpperCase(),
            path.replaceAll(/{\w+}/g, '%00'),
          );
          ok(status >= 400 && status < 500, `${method} ${path} answered ${status}`);
        }
      }
    });

    test('details of health need a token', async () => {
      expectRefusal(await server().anyone.get('/health/details'), 401, 'unauthorized');
      for (const client of [server().head, server().left, server().right]) {
        strictEqual(expectStatus(await client.get('/health/details'), 200)['ok'], true);
      }
    });

    test('[SP-04] anyone may read /skill.md, and it is Markdown', async () => {
      const answer = await server().anyone.get('/skill.md');
      expectStatus(answer, 200);
      match(answer.headers['content-type'] ?? '', /^text\/markdown/);
      match(answer.text, /SPINE_TOKEN/);
    });

    test('[SP-04 SP-05] SPINE_SKILL_MD_PATH selects the skill file, and no token in it gets out', async () => {
      const path = join(server().dataDir, 'own-skill.md');
      await using own = await start({ env: { SPINE_SKILL_MD_PATH: path } });
      await writeFile(path, `# Own skill\nUse ${own.tokens.head} or ${own.tokens.left}.\n`);
      const { text } = await own.anyone.get('/skill.md');
      match(text, /# Own skill/);
      for (const token of [own.tokens.head, own.tokens.left, own.tokens.right]) ok(!text.includes(token));
    });

    test('[SP-07] every other route needs a known bearer token', async () => {
      const { anyone, url } = server();
      const wrong = [
        '',
        'undefined',
        'null',
        'a,b',
        `${server().tokens.head}x`,
        server().tokens.head.slice(0, -1),
      ];
      for (const authorization of [
        undefined,
        'Basic aGVhZDo=',
        server().tokens.head,
        ...wrong.map((token) => `Bearer ${token}`),
      ]) {
        const headers = authorization === undefined ? {} : { authorization };
        expectRefusal(await anyone.get('/jobs', { headers }), 401, 'unauthorized');
        expectRefusal(await anyone.post('/jobs', {}, { headers }), 401, 'unauthorized');
        expectRefusal(await anyone.post('/jobs/x/claim', {}, { headers }), 401, 'unauthorized');
        expectRefusal(await anyone.post('/blobs', {}, { headers }), 401, 'unauthorized');
      }
      ok(url.startsWith('http://127.0.0.1:'));
    });

    test('[SP-07] a token in the URL is no token', async () => {
      expectRefusal(await server().anyone.get(`/jobs?token=${server().tokens.head}`), 401, 'unauthorized');
      expectRefusal(
        await server().anyone.get(`/jobs?access_token=${server().tokens.head}`),
        401,
        'unauthorized',
      );
    });

    test('[SP-08 SP-09 SP-10] each role reads with its own token, and is called by its own name', async () => {
      const job = await createJob(server().head, { target: 'any' });
      strictEqual(job['createdBy'], 'head');
      for (const [client, name] of [
        [server().head, 'head'],
        [server().left, 'left-claw'],
        [server().right, 'right-claw'],
      ] as const) {
        const { comments } = expectStatus(
          await client.post<{ comments: { by: string }[] }>(`/jobs/${job.id}/comment`, { text: 'hi' }),
          200,
        );
        strictEqual(comments.at(-1)?.by, name);
      }
    });

    test('[SP-11] several tokens of one role work side by side, and empty items are none', async () => {
      const rotated = httpClient(server().url, { token: ROTATED });
      try {
        expectStatus(await rotated.get('/jobs'), 200);
        expectStatus(await server().head.get('/jobs'), 200);
        await createJob(rotated);
      } finally {
        rotated.close();
      }
      expectRefusal(
        await server().anyone.get('/jobs', { headers: { authorization: 'Bearer  ' } }),
        401,
        'unauthorized',
      );
    });

    test('[SP-13] only head creates jobs; a claw is told the same as somebody without a token', async () => {
      await createJob(server().head);
      expectRefusal(await server().left.post('/jobs', { spec: 'mine' }), 401, 'unauthorized');
      expectRefusal(await server().right.post('/jobs', { spec: 'mine' }), 401, 'unauthorized');
    });

    test('a wrong role is told which one may: with 401 where v0 had the route, with 403 elsewhere', async () => {
      const roles = ['head', 'worker', 'run'];
      const told = { code: 'wrong_role', role: 'viewer' };
      const { token } = expectStatus(
        await server().head.post<{ token: string }>('/tokens', { name: 'looker', role: 'viewer' }),
        201,
      );
      const viewer = httpClient(server().url, { token });
      try {
        const create = await viewer.post('/jobs', {});
        expectRefusal(create, 401, 'unauthorized', { ...told, roles });
        match(String(create.body['message']), /role viewer.*head, worker or run/);
        const cancel = await viewer.post('/jobs/x/cancel', {});
        expectRefusal(cancel, 403, 'wrong_role', { ...told, roles: ['head'] });
        strictEqual(cancel.headers['www-authenticate'], undefined);
        expectRefusal(await server().anyone.post('/jobs/x/cancel', {}), 401, 'unauthorized');
      } finally {
        viewer.close();
      }
      const own = await server().left.post('/jobs', { spec: 'mine' });
      match(String(own.body['message']), /parentId/);
      const batch = await server().left.post('/jobs/batch', { jobs: [{ spec: 'mine' }] });
      expectRefusal(batch, 403, 'wrong_role');
    });

    test('anybody with a token is told who it is and what it may do', async () => {
      type Me = { name: string; role: string; targets: unknown; may: string[]; job?: string };
      const me = async (client: HttpClient): Promise<Me> => expectStatus(await client.get<Me>('/me'), 200);
      const head = await me(server().head);
      deepStrictEqual([head.name, head.role, head.targets], ['head', 'head', null]);
      ok(head.may.includes('createJob') && !head.may.includes('claimNext'));
      const left = await me(server().left);
      deepStrictEqual([left.name, left.role, left.targets], ['left-claw', 'worker', ['left-claw', 'any']]);
      ok(left.may.includes('claimNext') && !left.may.includes('cancelJob'));
      const held = await runningJob(server(), server().left);
      const run = httpClient(server().url, { token: `run.${held.id}.${String(held['leaseToken'])}` });
      try {
        const own = await me(run);
        deepStrictEqual([own.role, own.job], ['run', held.id]);
        ok(own.may.includes('completeJob') && !own.may.includes('listJobs'));
      } finally {
        run.close();
      }
      expectRefusal(await server().anyone.get('/me'), 401, 'unauthorized');
    });

    test('[SP-18] only claws claim', async () => {
      const { id } = await createJob(server().head);
      expectRefusal(await server().head.post(`/jobs/${id}/claim`), 401, 'unauthorized');
      expectRefusal(await server().head.post('/jobs/claim', {}), 403, 'wrong_role');
    });

    test('claws have no operator rights', async () => {
      const { id } = await createJob(server().head);
      for (const path of [
        `/jobs/${id}/cancel`,
        `/jobs/${id}/retry`,
        `/jobs/${id}/redrive`,
        '/targets/any/pause',
        '/types/x/resume',
      ]) {
        expectRefusal(await server().left.post(path), 403, 'wrong_role');
      }
      expectRefusal(await server().left.request('PUT', '/types/x', { body: {} }), 403, 'wrong_role');
      expectRefusal(
        await server().left.request('PUT', '/pools/x', { body: { capacity: 1 } }),
        403,
        'wrong_role',
      );
      expectRefusal(await server().left.request('DELETE', '/pools/x'), 403, 'wrong_role');
    });
  });
}
