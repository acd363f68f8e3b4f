/** `spine questions …`: what jobs have asked, and the answers. */

import type { Question, QuestionStatus } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { type Line, type Piece, styled } from '../text/line.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';
import { block, fact } from './job-lines.ts';
import { jobRef } from './job-ref.ts';
import { given, readStdin, textOrJson } from './values.ts';

interface ListOptions {
  readonly all?: boolean;
  readonly to?: string;
  readonly job?: string;
  readonly before?: number;
  readonly limit: number;
}

export const listQuestions: Handler<ListOptions> = async (session, { options }) => {
  const client = await session.client();
  const { all, to, before, limit } = options;
  const job = options.job === undefined ? undefined : await jobRef(client, options.job);
  const page = await client.questions.list(given({ open: all ? undefined : true, to, job, before, limit }));
  const { questions } = page;
  session.out.result({
    value: page,
    lines: () => {
      if (questions.length > 0)
        return table(
          HEADS,
          questions.map((each) => cells(each, session.now())),
          session.out.columns,
        );
      session.out.info(all ? 'No questions.' : 'Nothing waits for an answer.');
      return [];
    },
    ids: () => questions.map(({ id }) => id),
  });
  if (page.nextBefore !== null && !session.out.json)
    session.out.info(`There may be more: --before ${page.nextBefore}.`);
};

const HEADS = [
  { head: 'question' },
  { head: 'to' },
  { head: 'status' },
  { head: 'asked' },
  { head: 'text', gives: true },
];

function cells(question: Question, nowMs: number): Piece[] {
  const { id, to, askedAt, question: text } = question;
  return [id, to, statusText(question.status), relative(askedAt, nowMs), text];
}

const STYLES = { open: 'yellow', answered: 'green', timed_out: 'red', closed: 'dim' } as const;

function statusText(status: QuestionStatus): Piece {
  return styled(STYLES[status], status.replace('_', ' '));
}

export const getQuestion: Handler = async (session, { args: [id = ''] }) => {
  const question = await (await session.client()).questions.get(id);
  session.out.result({
    value: question,
    lines: () => questionLines(question, session.now()),
    ids: () => [question.id],
  });
};

function questionLines(question: Question, nowMs: number): Line[] {
  const { id, jobId, title, to, askedBy, askedAt, expiresAt, choices, status, answeredBy, answeredAt } =
    question;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['job', title === undefined ? jobId : `${title} (${jobId})`],
    ['asked', `${relative(askedAt, nowMs)} by ${askedBy}, of ${to}`],
    ['answer by', status === 'open' ? relative(expiresAt, nowMs) : undefined],
    ['one of', choices?.join(', ')],
    ['answered', answeredAt === undefined ? undefined : `${relative(answeredAt, nowMs)} by ${answeredBy}`],
  ];
  return [
    [styled('bold', 'Question '), statusText(status), ` ${id}`],
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [fact(name, value)])),
    ...block('question', question.question),
    ...block('schema', question.schema),
    ...block('default', question.default),
    ...block('answer', question.answer),
  ];
}

export const answerQuestion: Handler = async (session, { args: [id = '', text = ''] }) => {
  const { questions } = await session.client();
  const { choices } = await questions.get(id);
  // What is to be chosen is text, also where it reads as JSON.
  const said = text === '-' ? (await readStdin(session)).trim() : text;
  const answered = await questions.answer(id, choices === undefined ? await textOrJson(session, said) : said);
  session.out.result({
    value: answered,
    lines: () => [['Answered; ', styled('bold', answered.title ?? 'the job'), ' goes on.']],
    ids: () => [answered.id],
  });
};
