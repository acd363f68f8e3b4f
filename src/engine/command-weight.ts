/** What commands take of a flush: one for each row, and more for what is large. */

import type { Command, LogLine, NewJob } from '../domain/command.ts';
import { LIMITS } from '../domain/limits.ts';

/** So many characters take as long to write as a row. */
const CHARS = 4_096;
/** So many lines of a log take as long as a row with its events. */
const LINES = 3;

export function weightOf(commands: readonly Command[]): number {
  let weight = 0;
  for (const command of commands) weight += weightOfOne(command);
  return weight;
}

function weightOfOne(command: Command): number {
  if (command.kind === 'create')
    return command.jobs.length + command.jobs.reduce((sum, job) => sum + inputChars(job), 0) / CHARS;
  if (command.kind === 'claimNext') return command.max;
  // What was said before is read and written along with it.
  if (command.kind === 'edit') return command.metadata === null ? 1 : LIMITS.metaBytes / CHARS;
  if (command.kind === 'log') return 1 + weightOfLines(command.lines);
  return weightOfText(textIn(command));
}

/** What it writes beside its row, where callers say how much; null where they do not. */
function textIn(command: Command): string | null {
  if (command.kind === 'complete' || command.kind === 'report') return command.result;
  if (command.kind === 'fail') return command.error;
  if (command.kind === 'heartbeat') return command.progress;
  if (command.kind === 'comment') return command.text;
  if (command.kind === 'checkpoint') return command.value;
  if (command.kind === 'note') return command.note.prompt ?? null;
  if (command.kind === 'reword') return `${command.asked.description ?? ''}${command.asked.params ?? ''}`;
  return null;
}

function weightOfText(text: string | null): number {
  return 1 + chars(text) / CHARS;
}

function weightOfLines(lines: readonly LogLine[]): number {
  return lines.length / LINES + lines.reduce((sum, { text }) => sum + text.length, 0) / CHARS;
}

function inputChars({ input }: NewJob): number {
  const { description, spec, meta, params } = input;
  return chars(description) + chars(spec) + chars(meta) + chars(params);
}

function chars(text: string | null): number {
  return text === null ? 0 : text.length;
}
