/** What jobs took in tokens and money, and what types may take in a day. */

import type { Caller, CallOptions } from './caller.ts';
import type { Budget, DayUsage, Usage } from './types.ts';

export class UsageReports {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** The last so many days, today first. */
  async days(count = 7, options?: CallOptions): Promise<readonly DayUsage[]> {
    const path = `/usage?days=${count}`;
    const answer = await this.#caller.json<{ days: DayUsage[] }>({
      method: 'GET',
      path,
      repeatable: true,
      options,
    });
    return answer.days;
  }

  /** Of each attempt that told of it. */
  async ofJob(
    id: string,
    options?: CallOptions,
  ): Promise<readonly (Usage & { readonly claim: number; readonly t: string })[]> {
    const path = `/jobs/${encodeURIComponent(id)}/usage`;
    const answer = await this.#caller.json<{ attempts: (Usage & { claim: number; t: string })[] }>({
      method: 'GET',
      path,
      repeatable: true,
      options,
    });
    return answer.attempts;
  }

  async budgets(options?: CallOptions): Promise<readonly Budget[]> {
    const call = { method: 'GET', path: '/budgets', repeatable: true, options } as const;
    return (await this.#caller.json<{ budgets: Budget[] }>(call)).budgets;
  }

  /** With neither tokens nor a cost there is no budget any more. */
  async setBudget(
    type: string,
    budget: Partial<Pick<Budget, 'tokens' | 'costUsd'>>,
    options?: CallOptions,
  ): Promise<void> {
    const path = `/types/${encodeURIComponent(type)}/budget`;
    await this.#caller.json({ method: 'PUT', path, json: budget, repeatable: true, options });
  }

  /** As much again for today; its type goes on. */
  async raise(type: string, options?: CallOptions): Promise<void> {
    const path = `/types/${encodeURIComponent(type)}/budget/raise`;
    await this.#caller.json({ method: 'POST', path, json: {}, repeatable: false, options });
  }
}
