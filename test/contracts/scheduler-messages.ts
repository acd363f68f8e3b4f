import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { LIMITS } from '../../src/domain/limits.ts';
import { type HttpClient, httpClient } from '../support/http.ts';
import { type Body, OFTEN, sharedScheduler, type StartScheduler } from './scheduler-cases.ts';
import { checked } from '../http/description.ts';
import { expectRefusal, expectStatus } from './spine-cases.ts';

interface Message extends Body {
  readonly id: string;
  readonly body: string;
  readonly status: string;
  readonly receipts: readonly { agent: string; delivered_at: string | null; read_at: string | null }[];
}

interface ClaimedJob {
  readonly id: string;
  readonly leaseToken: string;
  readonly messages?: readonly Message[];
}

const bodies = (messages: readonly { readonly body: string }[] | undefined): string[] =>
  (messages ?? []).map(({ body }) => body);

let made = 0;

export function messageCases(start: StartScheduler): void {
  suite('messages between agents', () => {
    const server = sharedScheduler(start);
    const send = async (body: Body): Promise<Message> =>
      expectStatus(await server().head.post<Message>('/messages', body), 201);
    const get = async (id: string): Promise<Message> =>
      expectStatus(await server().head.get<Message>(`/messages/${id}`), 200);

    /** A worker with a token of its own name, and a target for its jobs. */
    const hire = async (grants?: readonly string[]): Promise<HttpClient & { readonly agent: string }> => {
      const agent = `worker-${++made}`;
      const body = { name: agent, role: 'worker', targets: [agent], ...(grants && { grants }) };
      const { token } = expectStatus(await server().head.post<{ token: string }>('/tokens', body), 201);
      return { ...checked(httpClient(server().url, { token })), agent };
    };
    const claim = async (worker: HttpClient & { readonly agent: string }) => {
      expectStatus(await server().head.post('/jobs', { target: worker.agent }), 201);
      const answer = await worker.post<{ jobs: ClaimedJob[]; messages: Message[] }>('/jobs/claim', {});
      const { jobs, messages } = expectStatus(answer, 200);
      const [job] = jobs;
      ok(job);
      deepStrictEqual(bodies(job.messages), bodies(messages));
      return { job, messages: bodies(messages) };
    };

    test('go with a claim and a heartbeat, and have arrived with the next call [SC-11 SC-32 SC-33 SC-66 SC-68]', async () => {
      const worker = await hire();
      const to = { to_agent: worker.agent };
      const fact = await send({ ...to, kind: 'fact', body: 'a fact', owner: 'lab', subject: 'Facts' });
      deepStrictEqual(
        [fact['from_agent'], fact['kind'], fact['priority'], fact['owner'], fact['subject'], fact.status],
        ['head', 'fact', 0, 'lab', 'Facts', 'pending'],
      );
      await send({ ...to, body: { json: true }, priority: 2 });
      await send({ toAgent: worker.agent, kind: 'constraint', body: 'a rule' });
      const { job, messages } = await claim(worker);
      deepStrictEqual(messages, ['a rule', 'a fact', '{"json":true}']);
      const steer = await send({ ...to, kind: 'task', body: 'turn left' });
      const held = { leaseToken: job.leaseToken };
      const beat = expectStatus(
        await worker.post<{ messages: Message[] }>(`/jobs/${job.id}/heartbeat`, held),
        200,
      );
      deepStrictEqual(bodies(beat.messages), ['turn left']);
      const delivered = await get(fact.id);
      deepStrictEqual([delivered.status, delivered['read_at']], ['delivered', null]);
      strictEqual((await get(steer.id)).status, 'pending');
      // The answer to the heartbeat was lost: whoever says what has come gets it again.
      const again = { ...held, received: [] };
      const lost = expectStatus(
        await worker.post<{ messages: Message[] }>(`/jobs/${job.id}/heartbeat`, again),
        200,
      );
      deepStrictEqual(bodies(lost.messages), ['turn left']);
      expectStatus(await worker.post(`/jobs/${job.id}/complete`, { ...held, received: [steer.id] }), 200);
      strictEqual((await get(steer.id)).status, 'delivered');
      const [row] = await server().query(`select * from messages where id = '${fact.id}'`);
      deepStrictEqual(
        [
          row?.['from_agent'],
          row?.['to_agent'],
          row?.['status'],
          row?.['read_at'],
          row?.['delivered_at'] !== null,
        ],
        ['head', worker.agent, 'delivered', null, true],
      );
      const [receipt] = await server().query(`select * from receipts where message_id = '${fact.id}'`);
      strictEqual(receipt?.['agent'], worker.agent);
      worker.close();
    });

    test('a worker reads and answers its own, in its own name, and no other [SC-67 SC-68]', async () => {
      const [alice, bob, mallory] = [await hire(), await hire(), await hire()];
      const asked = expectStatus(
        await alice.post<Message>('/messages', { to_agent: bob.agent, body: 'when?' }),
        201,
      );
      strictEqual(asked['from_agent'], alice.agent);
      const forged = { to_agent: bob.agent, from_agent: 'head', body: 'x' };
      expectRefusal(await alice.post('/messages', forged), 400, 'bad_request');
      const answer = { reply_to: asked.id, body: 'at noon' };
      expectRefusal(await mallory.post('/messages', answer), 400, 'bad_request');
      const told = expectStatus(await bob.post<Message>('/messages', answer), 201);
      deepStrictEqual([told['to_agent'], told['reply_to']], [alice.agent, asked.id]);
      for (const id of [asked.id, told.id]) {
        const thread = expectStatus(await alice.get<{ messages: Message[] }>(`/messages/${id}/thread`), 200);
        deepStrictEqual(bodies(thread.messages), ['when?', 'at noon']);
        expectRefusal(await mallory.get(`/messages/${id}`), 404, 'not_found');
        expectRefusal(await mallory.get(`/messages/${id}/thread`), 404, 'not_found');
        expectRefusal(await mallory.post(`/messages/${id}/read`, {}), 404, 'not_found');
      }
      const seen = async (client: HttpClient, query = '') =>
        bodies(expectStatus(await client.get<{ messages: Message[] }>(`/messages${query}`), 200).messages);
      deepStrictEqual(await seen(alice), ['at noon', 'when?']);
      deepStrictEqual(await seen(mallory), []);
      deepStrictEqual(await seen(mallory, `?agent=${alice.agent}`), []);
      deepStrictEqual(await seen(server().head, `?agent=${alice.agent}`), ['at noon', 'when?']);
      deepStrictEqual(await seen(alice, '?unread=true'), ['at noon']);
      deepStrictEqual(await seen(bob, `?from_agent=${alice.agent}&status=pending&kind=text`), ['when?']);
      expectRefusal(await mallory.get(`/messages?unread=true&to_agent=${bob.agent}`), 403, 'forbidden');
      expectRefusal(await mallory.post('/messages/readall', { agent: bob.agent }), 403, 'forbidden');
      expectRefusal(await server().head.get('/messages?unread=true'), 400, 'bad_request');
      deepStrictEqual((await alice.get('/messages/unread')).body, { agent: alice.agent, unread: 1 });
      const read = expectStatus(await alice.post<Message>(`/messages/${told.id}/read`, {}), 200);
      deepStrictEqual([read.status, read.receipts[0]?.read_at !== null], ['read', true]);
      deepStrictEqual((await bob.post('/messages/readall', {})).body, { agent: bob.agent, read: 1 });
      strictEqual((await get(asked.id)).status, 'read');
      for (const each of [alice, bob, mallory]) each.close();
    });

    test('unread ones come in pages, in the order in which they matter [SC-33]', async () => {
      const agent = `reader-${++made}`;
      for (const kind of ['text', 'fact', 'constraint', 'text', 'decision'])
        await send({ to_agent: agent, kind, body: kind });
      const seen: string[] = [];
      for (let after: string | null = ''; after !== null; ) {
        const place: string = after === '' ? '' : `&after=${after}`;
        const page: { messages: Message[]; next_after: string | null } = expectStatus(
          await server().head.get(`/messages?unread=true&to_agent=${agent}&limit=2${place}`),
          200,
        );
        seen.push(...bodies(page.messages));
        after = page.next_after;
      }
      deepStrictEqual(seen, ['constraint', 'decision', 'fact', 'text', 'text']);
    });

    test('a broadcast has a receipt for each agent [SC-68]', async () => {
      const [alice, bob] = [await hire(), await hire()];
      const sent = await send({ to_agent: 'broadcast', body: `all hands ${made}`, ttl_s: 60 });
      for (const worker of [alice, bob]) ok((await claim(worker)).messages.includes(sent.body));
      const agents = (await get(sent.id)).receipts.map(({ agent }) => agent);
      for (const agent of [alice.agent, bob.agent, 'left-claw'])
        strictEqual(agents.filter((one) => one === agent).length, 1, agent);
      ok(!agents.includes('head'));
      for (const worker of [alice, bob]) worker.close();
    });

    test('what has run out is never handed out, and says so [SC-69]', async () => {
      const worker = await hire();
      const past = new Date(Date.now() - 60_000).toISOString();
      const gone = await send({ to_agent: worker.agent, body: 'gone', expires_at: past });
      deepStrictEqual([gone.status, gone['expires_at']], ['expired', past]);
      ok(!(await claim(worker)).messages.includes('gone'));
      const list = await server().head.get<{ messages: Message[] }>(
        `/messages?to_agent=${worker.agent}&status=expired`,
      );
      deepStrictEqual(bodies(list.body.messages), ['gone']);
      const [row] = await server().query(`select status from messages where id = '${gone.id}'`);
      strictEqual(row?.['status'], 'expired');
      const twice = { to_agent: 'x', body: 'x', expires_at: past, ttl_s: 1 };
      expectRefusal(await server().head.post('/messages', twice), 400, 'bad_request');
      worker.close();
    });

    test('a constraint or a decision to another needs a grant of the token', async () => {
      const [plain, granted] = [await hire(), await hire(['constraint'])];
      const rule = (to: string, kind = 'constraint') => ({ to_agent: to, kind, body: 'x' });
      expectRefusal(await plain.post('/messages', rule(granted.agent)), 403, 'forbidden', {
        grant: 'constraint',
      });
      expectStatus(await plain.post('/messages', rule(plain.agent)), 201);
      expectStatus(await granted.post('/messages', rule(plain.agent)), 201);
      expectRefusal(await granted.post('/messages', rule('broadcast', 'decision')), 403, 'forbidden');
      const tokens = await server().head.get<{ tokens: { name: string; grants: string[] }[] }>('/tokens');
      deepStrictEqual(tokens.body.tokens.find(({ name }) => name === granted.agent)?.grants, ['constraint']);
      const wrong = { name: 'x', role: 'worker', grants: ['fact'] };
      expectRefusal(await server().head.post('/tokens', wrong), 400, 'bad_request');
      for (const worker of [plain, granted]) worker.close();
    });

    test('two that answer each other without end are told to wait before the thousandth', async () => {
      const [alice, bob] = [await hire(), await hire()];
      let sent = 0;
      for (; sent < 1_000; sent++) {
        const [from, to] = sent % 2 === 0 ? [alice, bob] : [bob, alice];
        const answer = await from.post('/messages', { to_agent: to.agent, body: 'ping' });
        if (answer.status === 201) continue;
        expectRefusal(answer, 429, 'rate_limited');
        ok(Number(answer.headers['retry-after']) > 0);
        break;
      }
      strictEqual(sent, 2 * LIMITS.messagesPerWindow);
      const audit = await server().head.get<{ entries: Body[] }>('/audit?limit=50');
      ok(
        audit.body.entries.some(
          ({ action, subject }) => action === 'message.limited' && subject === alice.agent,
        ),
      );
      for (const worker of [alice, bob]) worker.close();
    });

    test('what is wrong with a message is said, field by field, and nothing is sent', async () => {
      const before = (await server().head.get<{ messages: Message[] }>('/messages?limit=1')).body.messages[0]
        ?.id;
      for (const [wrong, field] of [
        [{ body: 'x' }, 'to_agent'],
        [{ to_agent: 'a' }, 'body'],
        [{ to_agent: 'no spaces', body: 'x' }, 'to_agent'],
        [{ to_agent: 'a', body: 'x', kind: 'gossip' }, 'kind'],
        [{ to_agent: 'a', body: 'x', priority: 3 }, 'priority'],
        [{ to_agent: 'a', body: 'x', ttl_s: 0 }, 'ttl_s'],
        [{ to_agent: 'a', body: 'x', expires_at: 'soon' }, 'expires_at'],
        [{ to_agent: 'a', body: 'x', reply_to: 'nothing' }, 'reply_to'],
        [{ to_agent: 'a', body: 'x'.repeat(LIMITS.messageChars + 1) }, 'body'],
        [{ to_agent: 'a', toAgent: 'b', body: 'x' }, 'to_agent'],
      ] as const)
        expectRefusal(await server().head.post('/messages', wrong), 400, 'bad_request', { field });
      const after = (await server().head.get<{ messages: Message[] }>('/messages?limit=1')).body.messages[0]
        ?.id;
      strictEqual(after, before);
    });
  });

  suite('agents', () => {
    const server = sharedScheduler(start, OFTEN);

    test('are registered, listed and seen; a worker is one by its name [SC-80]', async () => {
      const { head, left } = server();
      const body = { id: 'ops', name: 'Operations', capabilities: ['gpu'] };
      const made = expectStatus(await head.post<Body>('/agents', body), 201);
      deepStrictEqual(
        [made['id'], made['name'], made['capabilities'], made['status'], made['last_seen_at']],
        ['ops', 'Operations', ['gpu'], 'offline', null],
      );
      const renamed = expectStatus(await head.post<Body>('/agents', { id: 'ops', name: 'Ops' }), 201);
      deepStrictEqual([renamed['name'], renamed['capabilities']], ['Ops', ['gpu']]);
      expectStatus(await left.post('/agents', { id: 'left-claw', name: 'Left' }), 201);
      expectRefusal(await left.post('/agents', { id: 'ops' }), 403, 'forbidden');
      expectRefusal(await head.post('/agents', { id: 'broadcast' }), 400, 'bad_request');
      expectStatus(await left.post('/jobs/claim', {}), 200);
      for (let seen = null; seen === null; )
        seen = expectStatus(await head.get<Body>('/agents/left-claw'), 200)['last_seen_at'] as null;
      const { agents } = expectStatus(await left.get<{ agents: Body[] }>('/agents'), 200);
      deepStrictEqual(
        agents.map(({ id, status }) => [id, status]),
        [
          ['left-claw', 'idle'],
          ['ops', 'offline'],
          ['right-claw', 'offline'],
        ],
      );
      const [row] = await server().query("select * from agents where id = 'ops'");
      strictEqual(row?.['name'], 'Ops');
      expectStatus(await head.request('DELETE', '/agents/ops'), 200);
      expectRefusal(await head.get('/agents/ops'), 404, 'not_found');
    });
  });
}
