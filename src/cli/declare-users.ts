/** `spine users …`: who logs in with an email address and a password. */

import type { Command } from 'commander';
import { type Act, declare } from './command.ts';

export function declareUsers(program: Command, act: Act): void {
  const users = declare(program, 'users', 'Who logs in with an email address and a password.', [
    [
      'pass show anna | spine users add anna@example.org --name Anna --worker --password-stdin',
      'a worker; the password comes from a program',
    ],
    ['spine users list', 'all of them'],
  ]);
  declare(users, 'add', 'Let somebody log in.', [
    ['spine users add bot@example.org --name "Bot 1" --worker --password-stdin < secret', 'a worker'],
    ['spine users add anna@example.org --name Anna --admin --password-stdin < secret', 'an admin'],
  ])
    .argument('<email>', 'the address to log in with')
    .requiredOption('--name <text>', 'what people call it')
    .option('--admin', 'may create tasks, types and workers')
    .option('--worker', 'may claim tasks')
    .option('--timezone <zone>', 'for example Europe/Berlin; UTC unless said')
    .option('--password-stdin', 'the password comes on standard input, 8 characters or more')
    .action(act(async () => (await import('./commands/users.ts')).addUser));
  declare(users, 'list', 'List the users.', [['spine users list', 'with their rights and last logins']])
    .alias('ls')
    .action(act(async () => (await import('./commands/users.ts')).listUsers));
  declare(users, 'set', 'Change the name or the rights of a user, at once.', [
    ['spine users set anna@example.org --worker', 'may claim tasks, too'],
    ['spine users set anna@example.org --no-admin', 'is no admin any more'],
  ])
    .argument('<email>', 'the address, or the id')
    .option('--name <text>', 'what people call it')
    .option('--admin', 'may create tasks, types and workers')
    .option('--no-admin', 'may not')
    .option('--worker', 'may claim tasks')
    .option('--no-worker', 'may not')
    .option('--timezone <zone>', 'for example Europe/Berlin')
    .action(act(async () => (await import('./commands/users.ts')).setUser));
  declare(users, 'passwd', 'Give a user a new password; it has to log in again.', [
    ['spine users passwd anna@example.org --password-stdin < secret', 'from a file'],
  ])
    .argument('<email>', 'the address, or the id')
    .option('--password-stdin', 'the password comes on standard input, 8 characters or more')
    .action(act(async () => (await import('./commands/users.ts')).setPassword));
  declare(users, 'remove', 'Let a user log in no more; its work stays.', [
    ['spine users remove anna@example.org', 'at once'],
  ])
    .alias('rm')
    .argument('<email>', 'the address, or the id')
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./commands/users.ts')).removeUser));
}
