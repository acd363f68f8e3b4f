/** How commands are declared: what they are called and take. What they do is loaded when they run. */

import { type Command, InvalidArgumentError } from 'commander';
import type { Session } from './session.ts';
import { parseDuration } from './text/times.ts';

export interface Given<O = object> {
  /** The words of the command line that are no options, in order. */
  readonly args: readonly string[];
  readonly options: O;
}

export type Handler<O = object> = (session: Session, given: Given<O>) => Promise<void>;

/** Makes what commander calls out of what a command does. Passed in, so that the tree can be printed without a server. */
export type Act = <O>(load: () => Promise<Handler<O>>) => (...params: unknown[]) => Promise<void>;

export type Examples = readonly (readonly [line: string, meaning: string])[];

/** Examples come before everything else: most readers of help want to copy a line. */
export function declare(parent: Command, name: string, about: string, examples: Examples): Command {
  return withExamples(parent.command(name).description(about), examples);
}

export function withExamples(command: Command, examples: Examples): Command {
  const width = Math.max(...examples.map(([line]) => line.length));
  const lines = examples.map(([line, meaning]) => `  ${line.padEnd(width)}  ${meaning}`);
  return command.addHelpText('before', `Examples:\n${lines.join('\n')}\n`);
}

export const JOB = ['<job>', 'its number (12 or #12), its id, or the beginning of its id'] as const;
export const JOBS = ['<jobs...>', 'numbers, ids, or beginnings of ids'] as const;
export const LEASE_TOKEN = [
  '--lease-token <token>',
  'what the claim returned, the proof of the lease',
] as const;

/** How a time is written, wherever one is asked for. */
export const TIME = 'how far ahead, like 1h30m, or a time like 2026-12-01T09:00, with a zone or without';

export function whole(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

export function milliseconds(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError('Write a duration like 90s, 1h30m or 2d.');
  return ms;
}

/** For options that may be given more than once. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}
