/** `spine worker --runner gateway` as a process, at a gateway that is as strict as the original. */

import { match, ok, strictEqual } from 'node:assert';
import { after, before, suite, test } from 'node:test';
import { startStandIn, type StandIn } from '../../support/gateway/stand-in.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { asPrompted } from '../../support/session-server.ts';
import {
  heartbeatOf,
  makeTask,
  SHORT_SERVER,
  startWorker,
  taskOf,
  until,
  untilBeat,
  untilTask,
} from '../../support/worker-process.ts';

interface Questions {
  readonly questions: readonly { readonly id: string; readonly jobId: string; readonly to: string }[];
}

const TOKEN = 'gateway-token-of-the-worker';
const ARGS = ['--runner', 'gateway'];

suite('a worker whose sessions are turns of an agent at a gateway', () => {
  let server: TestServer;
  let gateway: StandIn;
  let env: Record<string, string>;
  before(async () => {
    server = await startServer({ env: { ...SHORT_SERVER, SPINE_WORKER_STALE_MS: '10000' } });
    gateway = await startStandIn({ token: TOKEN });
    env = { OPENCLAW_GATEWAY_URL: gateway.url, OPENCLAW_GATEWAY_TOKEN: TOKEN };
    gateway.state.plan = (message) =>
      message.includes('hang')
        ? { hang: true }
        : { text: message.includes('fail') ? 'TASK_FAILED: no paint' : 'Painted.' };
  });
  after(async () => {
    await server.stop();
    await gateway.stop();
  });
  const runOf = (word: string) => gateway.state.runs.runs.find(({ message }) => message.includes(word));

  test('a turn that is answered is done, one that says it failed or takes too long is not [WK-15 WK-19 WK-22]', async (t) => {
    startWorker(t, server, 'gw-1', { args: ARGS, env });
    const good = await makeTask(server, { title: 'good one', owner: 'gw-1' });
    const done = await untilTask(server, good.id, 'done');
    strictEqual(done.result?.['text'], 'Painted.');
    match(runOf('good one')?.message ?? '', /\*\*Task Title\*\*: good one/);
    const bad = await makeTask(server, { title: 'fail it', owner: 'gw-1' });
    match(String((await untilTask(server, bad.id, 'blocked')).metadata['errorReason']), /no paint/);
    const late = await makeTask(server, { title: 'hang on', owner: 'gw-1', timeoutMs: 700 });
    const { metadata } = await untilTask(server, late.id, 'blocked');
    strictEqual(metadata['errorReason'], 'Session timeout exceeded');
    await until('the turn is ended there', () => runOf('hang on')?.end?.status === 'killed');
  });

  test('a turn that asks lets its slot go, and the task is done with the answer, as the same attempt', async (t) => {
    await server.head.post('/aliases', { alias: 'ops', channel: 'log', target: 'x' });
    startWorker(t, server, 'gw-3', { args: ARGS, env });
    const { plan } = gateway.state;
    t.after(() => (gateway.state.plan = plan));
    gateway.state.plan = (message) => ({
      text: message.includes('You asked:')
        ? `Painted: ${/red|blue/.exec(message)?.[0]}.`
        : 'ASK @ops: Which shed?',
    });
    const task = await makeTask(server, { title: 'a question first', owner: 'gw-3' });
    const id = await until('it has asked', async () => {
      const { body } = await server.head.get<Questions>('/questions?open=true');
      return body.questions.find(({ jobId, to }) => jobId === task.id && to === '@ops')?.id;
    });
    await untilBeat(server, 'gw-3', 'idle');
    match(runOf('a question first')?.message ?? '', /ASK <@alias or name>: <question>/);
    const { status } = await server.head.post(`/questions/${id}/answer`, { answer: 'The red one' });
    strictEqual(status, 200);
    const done = await untilTask(server, task.id, 'done');
    strictEqual(done.result?.['text'], 'Painted: red.');
    const { body: job } = await server.head.get<{ attempts: number }>(`/jobs/${task.id}`);
    strictEqual(job.attempts, 1);
  });

  test('an agent at a gateway ends its own task with what stands in its prompt [WK-21]', async (t) => {
    startWorker(t, server, 'gw-4', { args: ARGS, env });
    const task = await makeTask(server, { title: 'hang at its own word', owner: 'gw-4' });
    const run = await until('the turn', () => runOf('hang at its own word'));
    await asPrompted(run.message);
    strictEqual((await taskOf(server, task.id)).status, 'review');
    gateway.finish(run.key, 'Painted, and said so.');
    await untilBeat(server, 'gw-4', 'idle');
    strictEqual((await taskOf(server, task.id)).status, 'review');
  });

  test('a turn whose connection broke runs on, and its task is done by its answer [WK-15]', async (t) => {
    startWorker(t, server, 'gw-5', { args: ARGS, env });
    const task = await makeTask(server, { title: 'hang without a line', owner: 'gw-5' });
    const run = await until('the turn', () => runOf('hang without a line'));
    gateway.dropSockets();
    await until('it is looked for', () => gateway.requests('sessions.list').length > 0);
    gateway.finish(run.key, 'Painted all the same.');
    strictEqual((await untilTask(server, task.id, 'done')).result?.['text'], 'Painted all the same.');
    const turns = gateway.state.runs.runs.filter(({ message }) => message.includes('hang without a line'));
    strictEqual(turns.length, 1);
  });

  test('after kill -9 the next process ends the turn that was left, and does the task anew [WK-23 WK-32]', async (t) => {
    const task = await makeTask(server, { title: 'hang about', owner: 'gw-2' });
    const first = startWorker(t, server, 'gw-2', { args: ARGS, env });
    await untilBeat(server, 'gw-2', 'working');
    const left = await until('the turn', () => runOf('hang about'));
    first.kill('SIGKILL');
    await first.ended;
    gateway.state.plan = () => ({ text: 'Painted after all.' });
    startWorker(t, server, 'gw-2', { args: ARGS, env });
    const done = await untilTask(server, task.id, 'done');
    strictEqual(left.end?.status, 'killed');
    strictEqual(done.metadata['crashRecovery'], true);
    ok(String(done.result?.['text']).includes('Painted after all.'));
    strictEqual((await heartbeatOf(server, 'gw-2'))?.metadata['restartCount'], 1);
  });
});
