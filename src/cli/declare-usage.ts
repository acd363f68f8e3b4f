/** `spine usage`: what jobs took in tokens and money, and budgets of types. */

import { type Command, InvalidArgumentError } from 'commander';
import { type Act, declare, whole } from './command.ts';

export function declareUsage(program: Command, act: Act): void {
  const usage = declare(
    program,
    'usage',
    'What jobs took in tokens and money, and what types may take in a day.',
    [
      ['spine usage show', 'of the last seven days, by type'],
      ['spine usage budget digest --tokens 1000000', 'digests take no more in a day'],
    ],
  );
  declare(usage, 'show', 'What was taken, by day and type.', [
    ['spine usage show', 'of the last seven days'],
    ['spine usage show --days 31 --json', 'of a month, as JSON'],
  ])
    .option('--days <number>', 'how many days, today included', whole)
    .action(act(async () => (await import('./commands/usage.ts')).showUsage));
  declare(usage, 'budgets', 'List what types may take in a day.', [
    ['spine usage budgets', 'all of them'],
  ]).action(act(async () => (await import('./commands/usage.ts')).listBudgets));
  declare(usage, 'budget', 'Say what a type may take in a day; when it is used up the type is paused.', [
    ['spine usage budget digest --tokens 1000000 --cost 5', 'whichever is used up first'],
    ['spine usage budget digest --none', 'no budget any more'],
  ])
    .argument('<type>', 'its name')
    .option('--tokens <number>', 'how many tokens', whole)
    .option('--cost <dollars>', 'how much money', amount)
    .option('--none', 'as much as it wants')
    .action(act(async () => (await import('./commands/usage.ts')).setBudget));
  declare(usage, 'raise', 'Let a type take as much again today.', [['spine usage raise digest', 'and go on']])
    .argument('<type>', 'its name')
    .action(act(async () => (await import('./commands/usage.ts')).raiseBudget));
}

function amount(text: string): number {
  if (/^\d{1,6}(\.\d{1,6})?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Write an amount of dollars, like 5 or 0.25.');
}
