import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test, type TestContext } from 'node:test';
import { LIMITS } from '../../src/domain/limits.ts';
import type { JobBody } from '../support/http.ts';
import { checked } from './description.ts';
import { openServer } from './server.ts';

interface Question extends Record<string, unknown> {
  readonly id: string;
}
type Asked = JobBody & { readonly asked?: Question; readonly question?: string };

async function open(t: TestContext) {
  const spine = await openServer(t);
  const [head, left, right] = [checked(spine.head), checked(spine.left), checked(spine.right)];
  const claimed = async (draft: object = {}) => {
    const { body } = await head.post<JobBody>('/jobs', { target: 'any', ...draft });
    return (await left.post<JobBody & { leaseToken: string }>(`/jobs/${body.id}/claim`)).body;
  };
  const ask = (job: { id: string; leaseToken: string }, fields: object = {}) =>
    left.post<Asked>(`/jobs/${job.id}/ask`, {
      question: 'Which one?',
      to: 'head',
      timeoutMs: 60_000,
      leaseToken: job.leaseToken,
      ...fields,
    });
  return { spine, head, left, right, claimed, ask };
}

function answersIn(job: JobBody | undefined): number {
  return ((job?.['answers'] ?? []) as Question[]).length;
}

suite('asking in the middle of a job', () => {
  test('shows a job that is blocked on an answer, and the next claim has it with the checkpoint [WK-43]', async (t) => {
    const { head, left, claimed, ask } = await open(t);
    const job = await claimed();
    const kept = await left.post<JobBody>(`/jobs/${job.id}/checkpoint`, {
      text: 'half of it',
      leaseToken: job.leaseToken,
    });
    strictEqual(kept.status, 200);
    const { status, body } = await ask(job, { choices: ['a', 'b'] });
    strictEqual(status, 200);
    deepStrictEqual(
      [body['state'], body['status'], body['blockedOn'], body['attempts'], body.question],
      ['blocked', 'queued', 'answer', 0, body.asked?.id],
    );
    const { body: list } = await head.get<{ questions: Question[] }>('/questions?open=true');
    deepStrictEqual(
      list.questions.map(({ id }) => id),
      [body.asked?.id],
    );
    const answered = await head.post<Question>(`/questions/${body.asked?.id}/answer`, { answer: 'b' });
    strictEqual(answered.status, 200);
    const { body: next } = await left.post<{ jobs: JobBody[] }>('/jobs/claim', { target: 'any' });
    const [again] = next.jobs;
    const [answer] = (again?.['answers'] ?? []) as Question[];
    deepStrictEqual([again?.id, again?.['checkpoint'], again?.attempts], [job.id, 'half of it', 1]);
    deepStrictEqual({ ...answer, at: null }, { question: 'Which one?', answer: 'b', by: 'head', at: null });
    ok(!Number.isNaN(Date.parse(String(answer?.['at']))));
  });

  test('a claim by id, a repeated one and the next with an end tell of it too', async (t) => {
    const { head, left, claimed, ask } = await open(t);
    const job = await claimed();
    const { body } = await ask(job);
    await head.post(`/questions/${body.asked?.id}/answer`, { answer: 1 });
    const other = await claimed({ target: 'left-claw' });
    const done = await left.post<{ next: JobBody[] }>(`/jobs/${other.id}/complete`, {
      leaseToken: other.leaseToken,
      next: { targets: ['any'], claimId: 'mine' },
    });
    strictEqual(answersIn(done.body.next[0]), 1);
    const repeated = await left.post<{ jobs: JobBody[] }>('/jobs/claim', { target: 'any', claimId: 'mine' });
    strictEqual(answersIn(repeated.body.jobs[0]), 1);
    await left.post(`/jobs/${job.id}/release`, { leaseToken: done.body.next[0]?.['leaseToken'] });
    const byId = await left.post<JobBody>(`/jobs/${job.id}/claim`);
    strictEqual(answersIn(byId.body), 1);
  });

  test('a second answer is told who was first; the same one again is fine', async (t) => {
    const { head, right, claimed, ask } = await open(t);
    const { body } = await ask(await claimed(), { to: 'right-claw' });
    const path = `/questions/${body.asked?.id}/answer`;
    strictEqual((await right.post(path, { answer: { n: 1 } })).status, 200);
    strictEqual((await right.post(path, { answer: { n: 1 } })).status, 200);
    const late = await head.post(path, { answer: { n: 1 } });
    deepStrictEqual([late.status, late.body['answeredBy']], [409, 'right-claw']);
    ok(late.body['answeredAt']);
  });

  test('whoever is not asked is refused, and sees only what concerns it', async (t) => {
    const { spine, head, left, right, claimed, ask } = await open(t);
    const { body } = await ask(await claimed({ target: 'left-claw' }));
    const path = `/questions/${body.asked?.id}`;
    strictEqual((await left.post(`${path}/answer`, { answer: 1 })).status, 403);
    strictEqual((await right.get(path)).status, 403);
    deepStrictEqual((await right.get<{ questions: [] }>('/questions')).body.questions, []);
    const viewer = await head.post<{ token: string }>('/tokens', { name: 'v', role: 'viewer' });
    const refused = await fetch(`${spine.url}${path}/answer`, {
      method: 'POST',
      headers: { authorization: `Bearer ${viewer.body.token}`, 'content-type': 'application/json' },
      body: '{"answer":1}',
    });
    strictEqual(refused.status, 403);
  });

  test('names the field that is wrong, and changes nothing', async (t) => {
    const { head, left, claimed, ask } = await open(t);
    const job = await claimed();
    for (const [field, fields] of [
      ['question', { question: '' }],
      ['question', { question: 'x'.repeat(LIMITS.questionChars + 1) }],
      ['to', { to: 'two words' }],
      ['to', { to: '@nobody' }],
      ['choices', { choices: [] }],
      ['timeoutMs', { timeoutMs: 0 }],
      ['timeoutMs', { timeoutMs: undefined }],
      ['schema', { schema: { type: 'nonsense' } }],
      ['default', { default: 'c', choices: ['a'] }],
    ] as const) {
      const { status, body } = await ask(job, fields);
      deepStrictEqual([status, String((body as Record<string, unknown>)['field'])], [400, field]);
    }
    for (const fields of [{}, { text: 'a', data: 1 }, { data: 'x'.repeat(LIMITS.checkpointBytes) }]) {
      const path = `/jobs/${job.id}/checkpoint`;
      strictEqual((await left.post(path, { leaseToken: job.leaseToken, ...fields })).status, 400);
    }
    for (const id of ['nothing', '12', '%00', '..'])
      strictEqual((await head.get(`/questions/${id}`)).status, 404, id);
    const { body } = await head.get<JobBody>(`/jobs/${job.id}`);
    deepStrictEqual(
      [body['state'], body['checkpointAt'], body['questions']],
      ['running', undefined, undefined],
    );
  });

  test('pages are bounded by bytes as well as by count', async (t) => {
    const { head, claimed, ask } = await open(t);
    for (let i = 0; i < 5; i++) await ask(await claimed(), { question: `${i}?` });
    const pages: string[][] = [];
    let before = '';
    do {
      const { body } = await head.get<{ questions: Question[]; nextBefore: number | null }>(
        `/questions?limit=2${before}`,
      );
      pages.push(body.questions.map(({ question }) => String(question)));
      before = body.nextBefore === null ? '' : `&before=${body.nextBefore}`;
    } while (before !== '');
    deepStrictEqual(pages, [['4?', '3?'], ['2?', '1?'], ['0?']]);
  });
});
