import type { Budget, DayUsage, Usage } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { usage as misuse } from '../failure.ts';
import type { Line } from '../text/line.ts';
import { table } from '../text/table.ts';

export const showUsage: Handler<{ readonly days?: number }> = async (session, { options: { days = 7 } }) => {
  const list = await (await session.client()).usage.days(days);
  session.out.result({ value: { days: list }, lines: () => dayTable(list, session.out.columns) });
};

export const listBudgets: Handler = async (session) => {
  const list = await (await session.client()).usage.budgets();
  session.out.result({ value: { budgets: list }, lines: () => budgetTable(list, session.out.columns) });
};

interface BudgetOptions {
  readonly tokens?: number;
  readonly cost?: number;
  readonly none?: boolean;
}

export const setBudget: Handler<BudgetOptions> = async (session, { args: [type = ''], options }) => {
  const { tokens, cost, none = false } = options;
  if (none === (tokens !== undefined || cost !== undefined))
    throw misuse('Say how much: --tokens, --cost or both; or --none for no budget.');
  const budget = { ...(tokens !== undefined && { tokens }), ...(cost !== undefined && { costUsd: cost }) };
  await (await session.client()).usage.setBudget(type, budget);
  session.out.result({
    value: { type, ...budget },
    lines: () => [none ? `${type} has no budget.` : `${type} may take ${words(budget)} in a day.`],
  });
};

export const raiseBudget: Handler = async (session, { args: [type = ''] }) => {
  await (await session.client()).usage.raise(type);
  session.out.result({
    value: { type, raised: true },
    lines: () => [`${type} may take as much again today.`],
  });
};

function words({ tokens, costUsd }: { readonly tokens?: number | null; readonly costUsd?: number | null }) {
  const parts = [
    ...(tokens === undefined || tokens === null ? [] : [`${tokens.toLocaleString('en')} tokens`]),
    ...(costUsd === undefined || costUsd === null ? [] : [dollars(costUsd)]),
  ];
  return parts.join(' and ');
}

function dayTable(days: readonly DayUsage[], columns: number): Line[] {
  const rows = days.flatMap(({ day, types, advice }) => [
    ...types.map(({ type, attempts, ...took }) => [day, type ?? '-', String(attempts), ...amounts(took)]),
    ...(advice.calls === 0 ? [] : [[day, '(advice)', String(advice.calls), ...asked(advice)]]),
  ]);
  if (rows.length === 0) return ['No job told what it took.'];
  const right = ['attempts', 'input', 'output', 'tokens', 'cost'].map((head) => ({ head, right: true }));
  return table([{ head: 'day' }, { head: 'type', gives: true }, ...right], rows, columns);
}

function budgetTable(budgets: readonly Budget[], columns: number): Line[] {
  if (budgets.length === 0)
    return ['No budgets. Set one with: npx spine usage budget <type> --tokens 1000000'];
  const heads = [{ head: 'type', gives: true }, { head: 'in a day' }, { head: 'today' }, { head: 'state' }];
  const rows = budgets.map((budget) => [budget.type, words(budget), words(taken(budget)), stateOf(budget)]);
  return table(heads, rows, columns);
}

/** Of what is bounded. */
function taken({ tokens, costUsd, used }: Budget) {
  return {
    tokens: tokens === null ? null : used.totalTokens,
    costUsd: costUsd === null ? null : used.costUsd,
  };
}

function stateOf({ usedUp, held, raised }: Budget): string {
  if (usedUp) return held ? 'used up, stays paused' : 'used up, goes on tomorrow';
  return raised === 0 ? 'open' : `raised ${raised} times`;
}

function amounts({ inputTokens, outputTokens, totalTokens, costUsd }: Usage): string[] {
  const counts = [inputTokens, outputTokens, totalTokens].map((count) => count.toLocaleString('en'));
  return [...counts, dollars(costUsd)];
}

/** What it costs is between the owner of the key and the provider. */
function asked({ inputTokens, outputTokens }: DayUsage['advice']): string[] {
  const counts = [inputTokens, outputTokens, inputTokens + outputTokens];
  return [...counts.map((count) => count.toLocaleString('en')), '-'];
}

function dollars(amount: number): string {
  return `$${amount.toFixed(2)}`;
}
