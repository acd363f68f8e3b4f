import { strictEqual } from 'node:assert';
import { after, before, test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf } from './support.ts';
import { golden, type Step, transcript } from './transcript.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

/** A worker at work, one that rests, and one that has left. */
async function workersAtWork(): Promise<void> {
  const call = async (path: string, body: object): Promise<void> => {
    const answer = await server.left.post(path, body);
    strictEqual(answer.status < 300, true, answer.text);
  };
  const { body: task } = await server.head.post<{ id: string }>('/jobs', {
    target: 'left-claw',
    title: 'Paint',
  });
  await call(`/jobs/${task.id}/claim`, {});
  for (const slot of ['left-claw', 'left-claw.2', 'left-claw.3']) {
    const metadata = { workerPid: 4_000, workerVersion: '1.0.0' };
    await call('/api/heartbeats/start', { slot, instance: slot, metadata });
  }
  const working = { status: 'working', task: task.id, attempt: 1, taskTitle: 'Paint', sessionId: 's' };
  await call('/api/heartbeats', { slot: 'left-claw', instance: 'left-claw', ...working });
  const left = { status: 'offline', metadata: { offlineReason: 'graceful-shutdown' } };
  await call('/api/heartbeats', { slot: 'left-claw.3', instance: 'left-claw.3', ...left });
}

/** When they were heard from, and in which columns that puts the rest. */
const mask = (text: string): string =>
  text
    .replaceAll(/\b1\d{12}\b/g, '<ms>')
    .replaceAll(/\b(?:now|\d+ ?m?s(?: ago)?)\b/g, '<when>')
    .replaceAll(/"task": "[^"]+"/g, '"task": "<id>"')
    .replaceAll(/(?<=\S) {2,}/g, '  ');

const steps: readonly Step[] = [
  'workers list',
  'workers top --once',
  'workers drain left-claw',
  'workers list',
  'workers resume left-claw',
  'workers list --quiet',
  'workers remove left-claw --yes',
  'workers remove left-claw.3 --yes',
  'workers list',
].map((line) => ({ line, mask }));

for (const json of [false, true]) {
  const file = `workers-at-work${json ? '-json' : ''}`;
  test(`${file} reads as in its golden file [WK-39]`, async (t) => {
    await workersAtWork();
    golden(t, file, await transcript(server, steps, { env: envOf(server), json }));
  });
}
