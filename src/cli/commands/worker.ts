/** `spine worker <slot>`: claims the tasks of a slot and has sessions do them. */

import type { Handler } from '../command.ts';
import { CliError, EXIT, usage } from '../failure.ts';
import type { RunnerName, WorkerOrder } from '../host.ts';

interface WorkerFlags {
  readonly runner?: RunnerName;
  readonly command?: string;
  readonly sessionsUrl?: string;
  readonly root?: readonly string[];
  readonly env?: readonly string[];
  readonly capability?: readonly string[];
  readonly concurrency: number;
}

const SLOT = /^[\p{L}\p{N}][\p{L}\p{N}._:@-]{0,89}$/u;
const MOST_AT_ONCE = 100;

export const worker: Handler<WorkerFlags> = async (session, { args, options }) => {
  const slot = args[0] ?? session.host.slotId(session.flags);
  // As the text says it: this one misuse exits with 1.
  if (slot === null)
    throw new CliError(EXIT.failure, 'usage', 'Usage: spine worker <slot>', 'Or set SLOT_ID.');
  if (!SLOT.test(slot)) throw usage('A slot is a name of letters, digits and . _ : @ -, up to 90 of them.');
  if (options.concurrency < 1 || options.concurrency > MOST_AT_ONCE)
    throw usage(`--concurrency must be a whole number from 1 to ${MOST_AT_ONCE}.`);
  const { sessionsUrl = null } = options;
  if (sessionsUrl !== null && !/^https?:\/\//.test(sessionsUrl))
    throw usage(`--sessions-url must be an http or https address, not ${JSON.stringify(sessionsUrl)}.`);
  const command = options.command === undefined ? null : commandOf(options.command);
  const runner = options.runner ?? (command === null ? null : 'command');
  refuseUnused(runner, options);
  const { url, token } = session.located();
  await session.host.worker(
    {
      slot,
      runner,
      command,
      sessionsUrl,
      roots: options.root ?? [],
      env: options.env ?? [],
      capabilities: options.capability ?? [],
      concurrency: options.concurrency,
      url: url.text.replace(/\/+$/, ''),
      token: token?.text,
    },
    session.flags,
  );
};

const VARIABLE = /^[A-Za-z_]\w*$/;

/** What would be ignored was meant for something. */
function refuseUnused(runner: WorkerOrder['runner'], { command, sessionsUrl, env = [] }: WorkerFlags): void {
  if (command !== undefined && runner !== 'command' && runner !== 'claude')
    throw usage(`--command is for the runners command and claude, not for ${runner}.`);
  if (sessionsUrl !== undefined && runner !== 'http') throw usage('--sessions-url needs --runner http.');
  const wrong = env.find((name) => !VARIABLE.test(name));
  if (wrong !== undefined)
    throw usage(`--env must be the name of a variable, without a value, not ${JSON.stringify(wrong)}.`);
}

function commandOf(text: string): readonly string[] {
  const problem = `--command must be a JSON array of a program and its arguments, for example '["./agent.sh"]'.`;
  try {
    const value: unknown = JSON.parse(text);
    if (isCommand(value)) return value;
  } catch {
    throw usage(problem);
  }
  throw usage(problem);
}

function isCommand(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((word) => typeof word === 'string') && (value[0] ?? '') !== '';
}
