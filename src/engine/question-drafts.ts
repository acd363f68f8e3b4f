/** What may be asked, and what may be answered to it. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Question, QuestionDraft } from '../domain/question.ts';
import { Meter } from '../domain/schema/check.ts';
import type { Core } from './core.ts';
import type { Asking } from './engine.ts';

export async function draftOf(core: Core, actor: Actor, asked: Asking): Promise<QuestionDraft> {
  const { question: text, to, choices = null, timeoutMs } = asked;
  const schema = asked.schema === undefined ? null : JSON.stringify(asked.schema);
  const terms = { choices, schema };
  if (schema !== null) await core.longWork.run(actor, () => checkSchema(core, schema));
  const fallback =
    asked.default === undefined ? null : await fitting(core, actor, terms, asked.default, 'default');
  return { id: core.ids.jobId(core.now()), text, to, timeoutMs, fallback, ...terms };
}

/** The answer as it is kept, if it is one that was asked for. */
export function answerJson(core: Core, actor: Actor, question: Question, answer: unknown): Promise<string> {
  return fitting(core, actor, question, answer, 'answer');
}

function checkSchema(core: Core, schema: string): void {
  if (schema.length > LIMITS.questionSchemaChars)
    throw unfit('schema', `schema must take at most ${LIMITS.questionSchemaChars} characters as JSON`);
  const problem = core.schemas.problemWith(JSON.parse(schema));
  if (problem !== null) throw unfit('schema', `schema cannot be used: ${problem}`);
}

async function fitting(
  core: Core,
  actor: Actor,
  { choices, schema }: Pick<Question, 'choices' | 'schema'>,
  value: unknown,
  field: string,
): Promise<string> {
  const json = JSON.stringify(value);
  if (Buffer.byteLength(json) > LIMITS.questionAnswerBytes)
    throw unfit(field, `${field} must take at most ${LIMITS.questionAnswerBytes} bytes as JSON`);
  if (choices !== null && !choices.some((choice) => choice === value))
    throw unfit(field, `${field} must be one of: ${choices.join(', ')}`);
  if (schema === null) return json;
  const mismatch = await core.longWork.run(actor, () => core.schemas.mismatch(schema, value, new Meter()));
  if (mismatch !== null) throw unfit(field, `${field} does not fit the schema: ${mismatch.why}`);
  return json;
}

function unfit(field: string, problem: string): SpineError {
  return new SpineError('bad_request', { field, problem });
}
