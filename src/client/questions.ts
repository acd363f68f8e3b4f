/** What jobs have asked, and the answers. */

import type { Caller, CallOptions } from './caller.ts';
import type { Question, QuestionFilter, QuestionPage } from './question-types.ts';

export class Questions {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Newest first. */
  list(filter: QuestionFilter = {}, options?: CallOptions): Promise<QuestionPage> {
    const query = { ...filter };
    return this.#caller.json({ method: 'GET', path: '/questions', query, repeatable: true, options });
  }

  get(id: string, options?: CallOptions): Promise<Question> {
    return this.#caller.json({ method: 'GET', path: pathOf(id), repeatable: true, options });
  }

  /** The first answer counts; the same one of the same caller may be sent again. */
  answer(id: string, answer: unknown, options?: CallOptions): Promise<Question> {
    const path = `${pathOf(id)}/answer`;
    return this.#caller.json({ method: 'POST', path, json: { answer }, repeatable: true, options });
  }
}

function pathOf(id: string): string {
  return `/questions/${encodeURIComponent(id)}`;
}
