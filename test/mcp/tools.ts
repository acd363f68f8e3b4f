/** The whole loop with nothing but tools, on a server of its own: over either transport, on either store. */

import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { after, before, suite, test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { type Json, type McpClient, openClient, packageVersion, TRANSPORTS } from './support.ts';

interface Store {
  readonly name: string;
  readonly skip: string | false;
  readonly databaseUrl: () => Promise<string | undefined>;
  readonly drop?: () => Promise<void>;
}

export function holdsTools(store: Store): void {
  suite(`the tools of MCP, on ${store.name}`, { skip: store.skip }, () => {
    let spine: TestServer;
    before(async () => {
      const databaseUrl = await store.databaseUrl();
      spine = await startServer(databaseUrl === undefined ? {} : { databaseUrl });
    });
    after(async () => {
      await spine.stop();
      await store.drop?.();
    });

    for (const transport of TRANSPORTS) {
      test(`do all there is to do, over ${transport}`, { timeout: 60_000 }, async () => {
        await using head = await openClient(transport, { url: spine.url, token: spine.tokens.head });
        await using claw = await openClient(transport, { url: spine.url, token: spine.tokens.left });
        strictEqual(head.client.getServerVersion()?.version, packageVersion());
        match(head.client.getInstructions() ?? '', /claim_jobs/);
        await drive(spine, head, claw);
        const shown = new Set<string>();
        for (const { client } of [head, claw])
          for (const { name } of (await client.listTools()).tools) shown.add(name);
        const called = new Set([...head.called, ...claw.called]);
        deepStrictEqual(
          [...shown].filter((name) => !called.has(name)),
          [],
        );
        await readResources(head);
      });

      test(`hand out each of 100 jobs once, to two clients at a time, over ${transport}`, {
        timeout: 60_000,
      }, async () => {
        await using one = await openClient(transport, { url: spine.url, token: spine.tokens.left });
        await using other = await openClient(transport, { url: spine.url, token: spine.tokens.left });
        const jobs = Array.from({ length: 100 }, (_, i) => ({
          target: 'left-claw',
          type: 'race',
          newType: true,
          spec: `${i}`,
        }));
        strictEqual((await spine.head.post('/jobs/batch', { jobs })).status, 201);
        const won = await Promise.all([one, other].map(takeAll));
        strictEqual(won.flat().length, 100);
        strictEqual(new Set(won.flat()).size, 100);
      });
    }
  });
}

async function takeAll({ call }: McpClient): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const { jobs } = (await call('claim_jobs', { types: ['race'], max: 1 })) as unknown as { jobs: Held[] };
    const [job] = jobs;
    if (job === undefined) return ids;
    ids.push(job.id);
    const ended = await call('complete_job', { id: job.id, leaseToken: job.leaseToken, result: 'raced' });
    strictEqual(ended['status'], 'done');
  }
}

interface Held {
  readonly id: string;
  readonly leaseToken: string;
  readonly leaseUntil: string;
  readonly attempt: number;
}

/** Every tool does its work once, and what it has done is seen. */
async function drive(spine: TestServer, head: McpClient, claw: McpClient): Promise<void> {
  const spec = 'Write the changelog';
  const made = await head.call('create_job', {
    target: 'left-claw',
    spec,
    title: 'Changelog',
    leaseMs: 60_000,
  });
  strictEqual(made['status'], 'queued');
  deepStrictEqual((await claw.call('who_am_i', {}))['targets'], ['left-claw', 'any']);
  const held = await claimed(claw, {});
  strictEqual(held.id, made['id'], JSON.stringify(held));
  const { id, leaseToken } = held;
  deepStrictEqual([held.attempt, Date.parse(held.leaseUntil) > Date.now()], [1, true]);
  const lease = { id, leaseToken };

  const beat = await claw.call('heartbeat', { ...lease, progress: 'half' });
  deepStrictEqual([beat['cancelRequested'], beat['progress']], [false, 'half']);
  strictEqual((await claw.call('heartbeat', { id, leaseToken: 'wrong' })).refused, 'lease_lost');
  strictEqual((await claw.call('write_checkpoint', { ...lease, text: '1 of 2' })).refused, undefined);
  strictEqual((await claw.call('write_log', { ...lease, lines: [{ text: 'begun' }] }))['accepted'], 1);
  const stored = await claw.call('attach_artifact', { ...lease, filename: 'a.md', content: '# Å' });
  const file = await spine.head.get(`/blobs/${String(stored['id'])}`);
  deepStrictEqual([file.headers['content-type'], file.text], ['text/plain', '# Å']);
  const bytes = { filename: 'b.bin', content: 'AAEC', encoding: 'base64', contentType: 'image/png' };
  strictEqual((await claw.call('attach_artifact', { ...lease, ...bytes }))['size'], 3);
  const files = list(await head.call('list_artifacts', { id }), 'blobs');
  strictEqual(files.length, 2);
  await readsBack(claw, { id: stored['id'] }, '# Å', 'utf8');
  const binary = files.find(({ filename }) => filename === 'b.bin')?.['id'];
  await readsBack(head, { id: binary, encoding: 'base64' }, Buffer.from([0, 1, 2]), 'base64');
  // A part ends before the character that its last byte would cut in two.
  const long = `x${'Å'.repeat(40_000)}`;
  const large = await claw.call('attach_artifact', { ...lease, filename: 'long.txt', content: long });
  await readsBack(claw, { id: large['id'] }, long, 'utf8');
  await readsBack(claw, { id: large['id'], encoding: 'base64' }, long, 'base64');
  const odd = { filename: 'odd', content: '/w==', encoding: 'base64' };
  const noText = await claw.call('attach_artifact', { ...lease, ...odd });
  strictEqual((await claw.call('read_artifact', { id: noText['id'] })).refused, 'bad_request');
  strictEqual(list(await head.call('read_log', { id }), 'logs').length, 1);

  const child = await claw.call('create_job', {
    parentId: id,
    target: 'left-claw',
    spec: 'Read the commits',
  });
  strictEqual(child['parentId'], id);
  const waiting = head.call('wait_for_job', { id: child['no'], wait: '50s' });
  const taken = await claw.call('claim_job', { id: child['id'] });
  const childLease = { id: taken['id'], leaseToken: taken['leaseToken'] };
  strictEqual((await claw.call('complete_job', { ...childLease, result: { commits: 7 } }))['status'], 'done');
  for (const ended of [await waiting, await claw.call('wait_for_job', { id: child['no'] })])
    deepStrictEqual([ended['ended'], ended['result']], [true, { commits: 7 }]);

  await claw.call('ask', {
    ...lease,
    question: 'Publish?',
    to: 'head',
    choices: ['yes', 'no'],
    timeoutMs: 60_000,
  });
  const [question] = list(await head.call('list_questions', { open: true, job: id }), 'questions');
  strictEqual(question?.['question'], 'Publish?');
  await head.call('answer_question', { id: question['id'], answer: 'yes' });
  const again = await claimed(claw, { waitMs: 5_000 });
  deepStrictEqual([again.id, again.attempt], [id, 1]);
  strictEqual(
    (await claw.call('release_job', { id, leaseToken: again.leaseToken, reason: 'lunch' }))['status'],
    'queued',
  );
  const third = await claimed(claw, {});
  const failing = { id, leaseToken: third.leaseToken, error: 'no network' };
  strictEqual((await claw.call('fail_job', failing))['status'], 'queued');
  const fourth = await claimed(claw, {});
  const untilAt = new Date(Date.now() + 3_600_000).toISOString();
  strictEqual(
    (await claw.call('snooze_job', { id, leaseToken: fourth.leaseToken, untilAt }))['status'],
    'queued',
  );
  strictEqual(list(await head.call('list_events', { id, limit: 2 }), 'events').length, 2);
  strictEqual((await claw.call('comment_job', { id, text: 'Almost.' })).refused, undefined);
  strictEqual((await head.call('cancel_job', { id }))['state'], 'cancelled');
  strictEqual((await head.call('retry_job', { id }))['status'], 'queued');
  strictEqual(list(await head.call('list_jobs', { q: 'Changelog', order: 'newest' }), 'jobs')[0]?.['id'], id);
  const part = await head.call('read_field', { id, field: 'comments[0].text' });
  deepStrictEqual([part['text'], part['nextOffset']], ['Almost.', null]);
  await head.call('cancel_job', { id });

  await approvals(head);
  await schedules(head);
  const letter = { to_agent: 'left-claw', kind: 'fact', body: 'The build is green.' };
  const sent = await head.call('send_message', letter);
  const [message] = list(await claw.call('list_messages', { unread: true }), 'messages');
  deepStrictEqual([message?.['id'], message?.['body']], [sent['id'], letter.body]);
  strictEqual((await claw.call('read_message', { id: sent['id'] })).refused, undefined);
  await spine.head.request('PUT', '/types/report', { body: { sop: 'Be short.' } });
  ok(list(await claw.call('list_types'), 'types').some(({ name }) => name === 'report'));
  strictEqual((await claw.call('get_type', { name: 'report' }))['sop'], 'Be short.');
  ok((await head.call('get_stats'))['states']);
}

/** Part after part, until there is no next. */
async function readsBack(
  { call }: McpClient,
  asked: Json,
  whole: string | Buffer,
  encoding: 'utf8' | 'base64',
): Promise<void> {
  const parts: Buffer[] = [];
  for (let offset: unknown = 0; offset !== null; ) {
    const part = await call('read_artifact', { ...asked, offset });
    strictEqual(part.refused, undefined, JSON.stringify(part));
    parts.push(Buffer.from(String(part['content']), encoding));
    offset = part['nextOffset'];
  }
  deepStrictEqual(Buffer.concat(parts), Buffer.from(whole));
}

async function approvals(head: McpClient): Promise<void> {
  for (const [verb, status] of [
    ['approve', 'queued'],
    ['reject', 'failed'],
  ] as const) {
    const made = await head.call('create_job', { target: 'nobody', spec: verb, approval: {} });
    const waiting = list(await head.call('list_approvals', { status: 'pending' }), 'approvals');
    strictEqual(waiting.length, 1);
    strictEqual((await head.call(verb, { id: made['id'] })).refused, undefined);
    strictEqual((await head.call('get_job', { id: made['id'] }))['status'], status);
  }
}

async function schedules(head: McpClient): Promise<void> {
  const made = await head.call('create_schedule', {
    name: `nightly ${Date.now()}`,
    schedule_cron: '0 3 * * *',
    payload_kind: 'agentTurn',
    payload_message: 'Tidy up',
  });
  strictEqual(made.refused, undefined, JSON.stringify(made));
  const { id } = made;
  ok(list(await head.call('list_schedules'), 'schedules').some((one) => one['id'] === id));
  strictEqual((await head.call('disable_schedule', { id }))['enabled'], false);
  strictEqual((await head.call('enable_schedule', { id }))['enabled'], true);
  strictEqual((await head.call('run_schedule', { id })).refused, undefined);
  strictEqual((await head.call('get_schedule', { id }))['id'], id);
}

async function readResources({ client, call }: McpClient): Promise<void> {
  const { resources } = await client.listResources();
  ok(resources.some(({ uri }) => uri === 'spine://types/report'));
  const job = resources.find(({ uri }) => uri.startsWith('spine://jobs/'));
  const read = await client.readResource({ uri: job?.uri ?? '' });
  const [content] = read.contents as { text: string }[];
  const { id } = JSON.parse(content?.text ?? '{}') as Json;
  strictEqual((await call('get_job', { id }))['id'], id);
  const { resourceTemplates } = await client.listResourceTemplates();
  deepStrictEqual(
    resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    ['spine://jobs/{id}', 'spine://types/{name}'],
  );
}

async function claimed({ call }: McpClient, how: object): Promise<Held> {
  const { jobs } = (await call('claim_jobs', { ...how })) as unknown as { jobs: Held[] };
  const [job] = jobs;
  if (job === undefined) throw new Error('Nothing was claimed.');
  return job;
}

function list(answer: Json, name: string): Json[] {
  strictEqual(answer.refused, undefined, JSON.stringify(answer));
  return answer[name] as Json[];
}
