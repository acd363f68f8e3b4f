/** Sessions of Claude Code without a terminal: one prompt in, one JSON object out. */

import { CommandRunner, type CommandRunnerOptions, type Printed, whyFailed } from './command-runner.ts';
import { WHOLE_BYTES } from './output.ts';
import {
  failedEnd,
  type Say,
  type Session,
  type SessionEnd,
  type SessionOrder,
  type SessionRunner,
} from './session.ts';

/** Of an answer that is none. */
const SHOWN_CHARS = 65_536;

const COMMAND: readonly string[] = ['claude'];

/** What it says of a conversation that it does not have in this folder, or has already; ports may be in use, too. */
const NOT_THERE = /No conversation found/;
const THERE = /Session ID \S+ is already in use/;

/** `command` is the program with arguments of the operator's own, such as its permission mode. */
export function claudeRunner(
  options: Omit<CommandRunnerOptions, 'command'> & { readonly command: readonly string[] | null },
): SessionRunner {
  const { command } = options;
  const runner = new CommandRunner(
    { ...options, command: command ?? COMMAND, keptBytes: WHOLE_BYTES },
    'claude',
    byItsWord,
    argumentsOf,
  );
  return {
    name: runner.name,
    hasEnvironment: runner.hasEnvironment,
    begin: (order, say) => beginOrContinue(runner, order, say),
    endLeftover: (id) => runner.endLeftover(id),
  };
}

function argumentsOf({ model, conversation, continues }: SessionOrder): readonly string[] {
  const asked = ['-p', '--output-format', 'json', '--model', model.replace(/^anthropic\//, '')];
  return conversation === null ? asked : [...asked, continues ? '--resume' : '--session-id', conversation];
}

/**
 * Whether it has the conversation only it knows: an earlier attempt may have been on another machine, or have ended before
 * it began. Then it says so and does nothing, and is asked the other way, once. The lease and the guardian see to it
 * that no two sessions of a task run at a time.
 */
async function beginOrContinue(runner: CommandRunner, order: SessionOrder, say: Say): Promise<Session> {
  const { conversation, continues } = order;
  let session = await runner.begin(order, say);
  let killed = false;
  const ended = session.ended.then(async (end) => {
    if (end.ok || killed || conversation === null) return end;
    const isOther = (continues ? NOT_THERE : THERE).test(end.reason ?? '');
    if (!isOther) return end;
    session = await runner.begin({ ...order, continues: !continues }, say);
    if (killed) await session.kill();
    return session.ended;
  });
  const kill = async (): Promise<void> => {
    killed = true;
    await session.kill();
  };
  return { ended, kill };
}

interface Result {
  readonly type?: unknown;
  readonly subtype?: unknown;
  readonly is_error?: unknown;
  readonly result?: unknown;
  readonly session_id?: unknown;
  readonly usage?: unknown;
  readonly total_cost_usd?: unknown;
  readonly num_turns?: unknown;
}

/** It has to end well, and to say so itself: neither is enough alone. */
function byItsWord(printed: Printed): SessionEnd {
  const said = resultIn(printed.stdout);
  const facts = { exitCode: printed.exitCode, ...factsOf(said) };
  const text = typeof said?.result === 'string' ? said.result : '';
  if (printed.lost !== null || printed.exitCode !== 0) return failedEnd(whyFailed(printed), facts, text);
  if (said === null)
    return failedEnd(
      'It answered no JSON, so nobody knows what it did.',
      facts,
      printed.stdout.slice(0, SHOWN_CHARS),
    );
  if (said.is_error !== false || said.subtype !== 'success')
    return failedEnd(text === '' ? `It ended with ${String(said.subtype)}.` : text, facts, text);
  return { ok: true, text, reason: null, facts };
}

function resultIn(stdout: string): Result | null {
  try {
    const value: unknown = JSON.parse(stdout);
    const last: unknown = Array.isArray(value) ? value.at(-1) : value;
    const isResult = typeof last === 'object' && last !== null && (last as Result).type === 'result';
    return isResult ? last : null;
  } catch {
    return null;
  }
}

/** The name under which it can be resumed, and what it cost. */
function factsOf(said: Result | null): object {
  if (said === null) return {};
  const { session_id: resumeId, usage, total_cost_usd: costUsd, num_turns: turns } = said;
  const known = Object.entries({ resumeId, usage, costUsd, turns }).filter(
    ([, value]) => value !== undefined,
  );
  return Object.fromEntries(known);
}
