/** What jobs took in tokens and money, and what types may take in a day. */

import type { Usage } from '../../../domain/usage.ts';
import type { ShownBudget } from '../../../engine/engine.ts';
import { iso } from '../../iso.ts';
import { jobId } from '../../job-id.ts';
import { route, type Route } from '../../routes.ts';
import { BudgetAnswer, Budgets, JobUsage, UsageByDay } from './answers.ts';
import { BudgetBody, NameParams, UsageQuery } from './schemas.ts';
import { NoFields } from '../../fields.ts';

const MICROS = 1_000_000;
const DAYS = 7;

export const usageRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/usage',
    name: 'getUsage',
    about: 'Read what jobs took in tokens and money, by day and type, today first.',
    who: ['head', 'viewer'],
    query: UsageQuery,
    answer: UsageByDay,
    handle: async ({ engine, query: { days = DAYS } }) => ({
      days: (await engine.spending.days(days)).map(({ day, types, advice }) => ({
        day,
        types: types.map(({ type, reports, usage }) => ({ type, attempts: reports, ...usageView(usage) })),
        advice,
      })),
    }),
  }),
  route({
    method: 'GET',
    path: '/jobs/:id/usage',
    name: 'getJobUsage',
    about: 'Read what each of the last 100 attempts at a job took, as far as its holder said so.',
    who: ['head', 'worker', 'viewer', 'run'],
    answer: JobUsage,
    errors: ['not_found', 'forbidden'],
    handle: async (call) => {
      const attempts = await call.engine.spending.ofJob(call.actor, await jobId(call));
      return {
        attempts: attempts.map(({ fence, at, usage }) => ({ claim: fence, t: iso(at), ...usageView(usage) })),
      };
    },
  }),
  route({
    method: 'GET',
    path: '/budgets',
    name: 'listBudgets',
    about: 'List what types may take in a day, and what they took of it today.',
    who: ['head', 'viewer'],
    answer: Budgets,
    handle: async ({ engine }) => ({ budgets: (await engine.spending.budgets()).map(budgetView) }),
  }),
  route({
    method: 'PUT',
    path: '/types/:name/budget',
    name: 'setBudget',
    about:
      'Say what the jobs of a type may take in a day. When it is used up the type is paused; with neither of both, there is no budget.',
    who: ['head'],
    params: NameParams,
    body: BudgetBody,
    answer: BudgetAnswer,
    errors: ['not_found'],
    handle: async ({ engine, actor, params, body: { tokens = null, costUsd = null } }) => {
      const type = params['name'] ?? '';
      const costMicros = costUsd === null ? null : Math.max(1, Math.round(costUsd * MICROS));
      await engine.spending.setBudget(actor, type, {
        tokens: tokens === null ? null : Math.ceil(tokens),
        costMicros,
      });
      return { type, tokens, costUsd };
    },
  }),
  route({
    method: 'POST',
    path: '/types/:name/budget/raise',
    name: 'raiseBudget',
    about: 'Let a type take as much again today, and go on when its budget has paused it.',
    who: ['head'],
    params: NameParams,
    body: NoFields,
    answer: BudgetAnswer,
    errors: ['not_found'],
    handle: async ({ engine, actor, params }) => {
      const type = params['name'] ?? '';
      await engine.spending.raise(actor, type);
      const budget = (await engine.spending.budgets()).find((each) => each.type === type);
      return {
        type,
        tokens: budget?.tokens ?? null,
        costUsd: inDollars(budget?.costMicros ?? null),
      };
    },
  }),
];

function budgetView({ type, tokens, costMicros, usedUpOn, raised, held, used }: ShownBudget): object {
  return {
    type,
    tokens,
    costUsd: inDollars(costMicros),
    usedUp: usedUpOn !== null,
    raised,
    held,
    used: usageView(used),
  };
}

function usageView({ inputTokens, outputTokens, totalTokens, costMicros }: Usage) {
  return { inputTokens, outputTokens, totalTokens, costUsd: costMicros / MICROS };
}

function inDollars(micros: number | null): number | null {
  return micros === null ? null : micros / MICROS;
}
