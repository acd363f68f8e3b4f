/** What leaves the house: where it goes, who is told of what, and what became of it. */

import { type Command, Option } from 'commander';
import { type Act, declare, whole } from './command.ts';

export function declareDelivery(program: Command, act: Act): void {
  declareAliases(program, act);
  declareSubscriptions(program, act);
  declareDeliveries(program, act);
}

/** `spine alias …`, and the same under `openclaw-scheduler`. */
export function declareAliases(program: Command, act: Act): void {
  const me = program.name();
  const alias = declare(program, 'alias', 'Names for places that results are delivered to.', [
    [`${me} alias add ops telegram -1001234567890 "The ops channel"`, '@ops is that chat from now on'],
    [`${me} alias list`, 'all of them'],
  ]);
  declare(alias, 'list', 'List the aliases.', [[`${me} alias list`, 'name, channel and target']])
    .alias('ls')
    .action(act(async () => (await import('./commands/aliases.ts')).listAliases));
  declare(alias, 'add', 'Name a place, or say where a name leads from now on.', [
    [`${me} alias add ops telegram -1001234567890`, 'a chat of Telegram'],
    [`${me} alias add hook webhook https://example.com/spine`, 'a URL of yours'],
    [`${me} alias add team gateway discord:123456`, "a channel of the gateway's"],
  ])
    .argument('<name>', 'what to call it')
    .argument('<channel>', "telegram, slack, webhook, gateway, log, or a channel of the gateway's")
    .argument('[target]', 'a chat, a channel or a URL; log needs none')
    .argument('[description]', 'what it is for')
    .action(act(async () => (await import('./commands/aliases.ts')).addAlias));
  declare(alias, 'remove', 'Remove a name.', [[`${me} alias remove ops`, 'asks first on a terminal']])
    .alias('rm')
    .argument('<name>', 'of the alias')
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./commands/aliases.ts')).removeAlias));
}

function declareSubscriptions(program: Command, act: Act): void {
  const subscriptions = declare(program, 'subscriptions', 'Who is told of which events.', [
    ['spine subscriptions add ops failed dead', 'whatever goes wrong'],
    ['spine subscriptions list', 'all of them'],
  ]);
  declare(subscriptions, 'list', 'List the subscriptions.', [
    ['spine subscriptions list', 'who is told what'],
  ])
    .alias('ls')
    .action(act(async () => (await import('./commands/subscriptions.ts')).listSubscriptions));
  declare(subscriptions, 'add', 'Tell an alias of events.', [
    ['spine subscriptions add ops failed dead --type digest', 'digests that go wrong'],
    ['spine subscriptions add boss approval', 'whatever waits for a word'],
  ])
    .argument('<alias>', 'who is told')
    .argument('<events...>', 'done, failed, dead, cancelled, approval, question, stale')
    .option('--type <name>', 'only jobs of this type')
    .option('--schedule <schedule>', 'only runs of this schedule: its name, its id or the beginning of it')
    .option('-t, --target <name>', 'only jobs of this target')
    .option('--job <job>', 'only this job')
    .action(act(async () => (await import('./commands/subscriptions.ts')).addSubscription));
  declare(subscriptions, 'remove', 'Tell them no more.', [
    ['spine subscriptions remove 019a5c3e-…', 'the whole id'],
  ])
    .alias('rm')
    .argument('<id>', 'of the subscription')
    .action(act(async () => (await import('./commands/subscriptions.ts')).removeSubscription));
}

function declareDeliveries(program: Command, act: Act): void {
  const deliveries = declare(program, 'deliveries', 'What was sent, and what could not be.', [
    ['spine deliveries list --status failed', 'what did not arrive'],
    ['spine deliveries retry 019a5c3e-…', 'send it after all'],
  ]);
  declare(deliveries, 'list', 'List deliveries, newest first.', [
    ['spine deliveries list', 'the 20 newest'],
    ['spine deliveries list --run 019a5c3e', 'of one run'],
  ])
    .alias('ls')
    .addOption(
      new Option('-s, --status <status>', 'only deliveries with this status').choices([
        'pending',
        'delivered',
        'failed',
      ]),
    )
    .option('--run <run>', 'only of this run or job')
    .option('-n, --limit <number>', 'how many at most', whole, 20)
    .option('--before <number>', 'go on where the last page ended', whole)
    .action(act(async () => (await import('./commands/deliveries.ts')).listDeliveries));
  declare(deliveries, 'retry', 'Send one that failed after all.', [
    ['spine deliveries retry 019a5c3e-…', 'to where its alias leads now'],
  ])
    .argument('<id>', 'of the delivery')
    .action(act(async () => (await import('./commands/deliveries.ts')).retryDelivery));
}
