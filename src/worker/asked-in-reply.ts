/** What an agent says instead of an answer when it must know more first: then its job asks, and waits. */

import { AskAndWait } from '../client/errors.ts';
import { askOf } from '../prompt/plan.ts';

/** What a question may have at the server. */
const QUESTION_CHARS = 8_000;
/** How long an agent's question waits: people sleep, and have weekends. */
const ANSWER_MS = 3 * 24 * 3_600_000;

export function askedIn(reply: string): AskAndWait | null {
  const asked = askOf(reply);
  if (asked === null) return null;
  const question = asked.question.slice(0, QUESTION_CHARS).toWellFormed();
  return new AskAndWait({ to: asked.to, question, timeoutMs: ANSWER_MS });
}
