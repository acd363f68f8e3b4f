/** Asking in the middle of a job, what the next holder is to know, and the answers of others. */

import { SpineError } from '../../../domain/error.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { QuestionRecord } from '../../../domain/question.ts';
import { iso } from '../../iso.ts';
import { fullId, isFullId, jobId } from '../../job-id.ts';
import { pageOf } from '../../page.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { AskedJob, Job, Question, Questions } from './answers.ts';
import { answer } from './jobs.ts';
import { HELD, HOLDERS, tokenOf } from './leases.ts';
import { AnswerBody, AskBody, CheckpointBody, LeaseHeaders, QuestionsQuery } from './schemas.ts';

const READERS = ['head', 'worker', 'viewer'] as const;
const ABOUT_ONE = ['not_found', 'forbidden'] as const;
const PAGE = 100;
/** What a question takes beside its words, and at most with them. */
const QUESTION_BYTES = 500;
const LARGEST_BYTES =
  4 * LIMITS.questionChars + 4 * LIMITS.questionSchemaChars + 2 * LIMITS.questionAnswerBytes;

export const questionRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/jobs/:id/ask',
    name: 'askAndWait',
    about:
      'Ask somebody and give the job back until the answer comes. It waits without a holder, a slot or an attempt, and goes on at the front of its queue.',
    who: HOLDERS,
    headers: LeaseHeaders,
    body: AskBody,
    answer: AskedJob,
    errors: [...HELD, 'conflict', 'mailbox_full'],
    handle: async (call) => {
      const { leaseToken: _, received, ...asked } = call.body;
      const { engine, actor } = call;
      const done = await engine.questions.ask(actor, await jobId(call), tokenOf(call), asked, received);
      const shown = done.question === null ? '' : `,"asked":${JSON.stringify(questionView(done.question))}`;
      return answer(call, done.accepted, shown);
    },
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/checkpoint',
    name: 'writeCheckpoint',
    about: 'Say what the next holder of the job is to know, as text or data. The last one counts.',
    who: HOLDERS,
    forShownTokens: true,
    headers: LeaseHeaders,
    body: CheckpointBody,
    answer: Job,
    errors: HELD,
    handle: async (call) => {
      const { text, data } = call.body;
      if ((text === undefined) === (data === undefined)) {
        const message = 'Send text or data, one of them.';
        throw new SpineError('bad_request', { field: text === undefined ? 'text' : 'data' }, { message });
      }
      const { leases } = call.engine;
      return answer(
        call,
        await leases.checkpoint(call.actor, await jobId(call), tokenOf(call), text ?? data),
      );
    },
  }),
  route({
    method: 'GET',
    path: '/questions',
    name: 'listQuestions',
    about:
      'List what jobs have asked, newest first. A scoped token sees those of its targets, and what it is asked.',
    who: READERS,
    query: QuestionsQuery,
    answer: Questions,
    errors: ['not_found'],
    handle: async (call) => {
      const { engine, actor } = call;
      const { limit = PAGE, before: start, job, ...filter } = call.query;
      const named = job === undefined ? {} : { job: await fullId(engine, actor, job) };
      const { items, next } = await pageOf(call, {
        limit,
        itemBytes: LARGEST_BYTES,
        start,
        read: (before, count) =>
          engine.questions.list(actor, {
            ...filter,
            ...named,
            ...(before !== undefined && { before }),
            limit: count,
          }),
        cursorOf: ({ no }) => no,
        bytesOf: ({ text, schema, fallback, answer }) =>
          QUESTION_BYTES +
          [text, schema, fallback, answer].reduce((sum, part) => sum + (part?.length ?? 0), 0),
      });
      return { questions: items.map(questionView), nextBefore: next };
    },
  }),
  route({
    method: 'GET',
    path: '/questions/:id',
    name: 'getQuestion',
    about: 'Read a question and what was answered.',
    who: [...READERS, 'run'],
    forShownTokens: true,
    answer: Question,
    errors: ABOUT_ONE,
    handle: async ({ engine, actor, params }) =>
      questionView(await engine.questions.get(actor, questionId(params))),
  }),
  route({
    method: 'POST',
    path: '/questions/:id/answer',
    name: 'answerQuestion',
    about:
      'Answer a question: head for any person, a worker what it is asked itself, a run at a gateway what its agent is asked and it was handed as a message. The first answer counts.',
    who: ['head', 'worker', 'run'],
    forShownTokens: true,
    body: AnswerBody,
    answer: Question,
    errors: [...ABOUT_ONE, 'conflict'],
    handle: async ({ engine, actor, params, body }) =>
      questionView(await engine.questions.answer(actor, questionId(params), body.answer)),
  }),
];

/** What cannot be an id never reaches the store. */
function questionId({ id = '' }: Call['params']): string {
  if (!isFullId(id)) throw new SpineError('not_found', { id });
  return id;
}

function questionView(question: QuestionRecord): object {
  const { id, jobId, title, text, to, choices, schema, fallback, status, answer } = question;
  return {
    id,
    jobId,
    ...(title !== null && { title }),
    question: text,
    to,
    ...(choices !== null && { choices }),
    ...(schema !== null && { schema: JSON.parse(schema) as unknown }),
    ...(fallback !== null && { default: JSON.parse(fallback) as unknown }),
    askedBy: question.askedBy,
    askedAt: iso(question.askedAt),
    expiresAt: iso(question.expiresAt),
    status,
    ...(answer !== null && { answer: JSON.parse(answer) as unknown }),
    ...(question.answeredBy !== null && { answeredBy: question.answeredBy }),
    ...(question.answeredAt !== null && { answeredAt: iso(question.answeredAt) }),
  };
}
