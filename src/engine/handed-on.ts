/**
 * What others left for whoever holds a job next: the results of its dependencies, its last checkpoint, and the answers to its
 * questions.
 */

import { type Job, rootOf } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Answered } from '../domain/question.ts';
import type { Store } from '../store/store.ts';
import type { HandedOn } from './engine.ts';
import { inputsOf } from './inputs.ts';

/** Whether its row says that there is something; most have nothing, and nothing is read for them. */
export function hasLeft({ questions, checkpointAt, dependencies }: Job): boolean {
  return questions > 0 || checkpointAt !== null || dependencies > 0;
}

export async function handedOn(read: Store['read'], jobs: readonly Job[]): Promise<Map<number, HandedOn>> {
  const some = jobs.filter(hasLeft);
  if (some.length === 0) return NOTHING;
  const dependents = some.filter(({ dependencies }) => dependencies > 0);
  const inputs = dependents.length === 0 ? null : await inputsOf(read, dependents);
  const nos = some.flatMap(({ no, checkpointAt }) => (checkpointAt === null ? [] : [no]));
  const checkpoints = nos.length === 0 ? null : await read.checkpoints.byNo(nos);
  const left = new Map<number, HandedOn>();
  for (const job of some) {
    const given =
      job.questions === 0 ? [] : await read.questions.answersOf(rootOf(job), LIMITS.answersShown + 1);
    const answers = newest(given);
    left.set(job.no, {
      checkpoint: checkpoints?.get(job.no) ?? null,
      answers,
      answersLeftOut: answers.length < given.length,
      inputs: inputs?.get(job.no) ?? null,
    });
  }
  return left;
}

const NOTHING: Map<number, HandedOn> = new Map();

/** What an answer takes in a claim's answer beside its words. */
const ANSWER_BYTES = 150;

/** As many as one claim may tell of; oldest first. */
function newest(answers: readonly Answered[]): readonly Answered[] {
  let bytes = 0;
  const kept = answers.slice(0, LIMITS.answersShown).filter(({ text, answer, answeredBy }) => {
    const words = Buffer.byteLength(`${text}${answer}${answeredBy}`);
    return (bytes += ANSWER_BYTES + words) <= LIMITS.answersBytes;
  });
  return kept.toReversed();
}
