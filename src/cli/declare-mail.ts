/** What agents tell each other, and who they are. */

import { type Command, Option } from 'commander';
import { type Act, collect, declare, type Handler, milliseconds, whole } from './command.ts';

/** What a command prints as JSON. */
export type MailShape = 'message' | 'messages' | 'agent' | 'agents' | 'done';
/** The scheduler's programs know other shapes. */
export type Shaped = <O>(load: () => Promise<Handler<O>>, shape: MailShape) => () => Promise<Handler<O>>;

const plain: Shaped = (load) => load;

/** `spine msg …` and `spine agents …`, and the same under `openclaw-scheduler`. */
export function declareMail(program: Command, act: Act, shaped: Shaped = plain): void {
  declareMessages(program, act, shaped);
  declareAgents(program, act, shaped);
}

const messages = async () => await import('./commands/messages.ts');
const agents = async () => await import('./commands/agents.ts');

/** Kinds that `msg send` takes. */
export const SENT_KINDS: readonly string[] = [
  'constraint',
  'decision',
  'fact',
  'task',
  'preference',
  'text',
  'result',
  'status',
  'system',
  'spawn',
];

function declareMessages(program: Command, act: Act, shaped: Shaped): void {
  const me = program.name();
  const msg = declare(program, 'msg', 'Messages between agents.', [
    [`${me} msg send ops main "Deploys are frozen" --kind constraint`, 'what main has to heed'],
    [`${me} msg inbox main`, 'what it has not read'],
  ]);
  declareSend(msg, me, act, shaped);
  declare(msg, 'inbox', 'What an agent has not read, what matters most first.', [
    [`${me} msg inbox main 10`, 'the first ten'],
  ])
    .argument('<agent>', 'whose')
    .argument('[limit]', 'how many at most', whole)
    .action(act(shaped(async () => (await messages()).inbox, 'messages')));
  declare(msg, 'outbox', 'What an agent has sent, newest first.', [
    [`${me} msg outbox main`, 'the newest 20'],
  ])
    .argument('<agent>', 'whose')
    .argument('[limit]', 'how many at most', whole)
    .action(act(shaped(async () => (await messages()).outbox, 'messages')));
  declare(msg, 'thread', 'The whole conversation of a message, oldest first.', [
    [`${me} msg thread 019a5c3e-…`, 'from whichever of its messages'],
  ])
    .argument('<id>', 'of a message')
    .action(act(shaped(async () => (await messages()).thread, 'messages')));
  declareReading(msg, me, act, shaped);
}

function declareSend(msg: Command, me: string, act: Act, shaped: Shaped): void {
  declare(msg, 'send', 'Send a message.', [
    [`${me} msg send ops main "Deploys are frozen" --kind constraint --owner ops`, 'to one agent'],
    [`${me} msg send ops broadcast "Back at 9" --ttl 2h`, 'to all of them'],
    [`${me} msg send main ops "Understood" --reply-to 019a5c3e-…`, 'as an answer'],
  ])
    .argument('<from>', "who sends it; - for the token's own name")
    .argument('<to>', 'who gets it: an agent, or broadcast')
    .argument('<body>', 'what it says; - for standard input')
    .addOption(new Option('--kind <kind>', 'what kind of message it is').choices(SENT_KINDS).default('text'))
    .option('-p, --priority <number>', '0 normal, 1 high, 2 urgent', whole)
    .option('--owner <name>', 'whose constraint, decision or fact it is')
    .option('--subject <text>', 'what it is about')
    .option('--ttl <duration>', 'after this nobody is handed it any more', milliseconds)
    .option('--reply-to <id>', 'the message that it answers')
    .action(act(shaped(async () => (await messages()).send, 'message')));
}

function declareReading(msg: Command, me: string, act: Act, shaped: Shaped): void {
  declare(msg, 'read', 'Mark a message as read.', [
    [`${me} msg read 019a5c3e-…`, 'by the agent to whom it went'],
    [`${me} msg read 019a5c3e-… --agent main`, 'one that went to all'],
  ])
    .argument('<id>', 'of the message')
    .option('--agent <agent>', 'who has read it')
    .action(act(shaped(async () => (await messages()).read, 'message')));
  declare(msg, 'readall', 'Mark everything that was sent to an agent as read.', [
    [`${me} msg readall main`, 'all of it'],
  ])
    .argument('<agent>', 'whose')
    .action(act(shaped(async () => (await messages()).readAll, 'done')));
  declare(msg, 'unread', 'How many messages an agent has not read.', [[`${me} msg unread main`, 'a number']])
    .argument('<agent>', 'whose')
    .action(act(shaped(async () => (await messages()).unread, 'done')));
}

function declareAgents(program: Command, act: Act, shaped: Shaped): void {
  const me = program.name();
  const parent = declare(program, 'agents', 'Who sends and receives messages.', [
    [`${me} agents list`, 'all that are known'],
    [`${me} agents register ops "Operations"`, 'one more'],
  ]);
  declare(parent, 'list', 'List the agents.', [
    [`${me} agents list`, 'who they are and when they were heard'],
  ])
    .alias('ls')
    .action(act(shaped(async () => (await agents()).listAgents, 'agents')));
  declare(parent, 'get', 'Show an agent.', [[`${me} agents get ops`, 'what is known of it']])
    .argument('<id>', 'of the agent')
    .action(act(shaped(async () => (await agents()).getAgent, 'agent')));
  declare(parent, 'register', 'Make an agent known, or change what is said of it.', [
    [`${me} agents register ops "Operations" --capability gpu`, 'what it is called and can do'],
  ])
    .argument('<id>', 'by which others write to it; of a worker, its name')
    .argument('[name]', 'for people')
    .option('--capability <name>', 'what it can do; more than once for several', collect)
    .action(act(shaped(async () => (await agents()).registerAgent, 'agent')));
  declare(parent, 'remove', 'Forget an agent, and what waits for it.', [
    [`${me} agents remove ops`, 'asks first on a terminal'],
  ])
    .alias('rm')
    .argument('<id>', 'of the agent')
    .option('-y, --yes', 'do not ask')
    .action(act(shaped(async () => (await agents()).removeAgent, 'done')));
}
