/** A line of the log as text. What callers have sent may stand in it: it cannot begin a line, move a cursor or be without end. */

import { isoTime } from '../domain/iso-time.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type Facts = Readonly<Record<string, unknown>>;
type Written = Exclude<LogLevel, 'silent'>;

const TEXT_CHARS = 1_000;
const STACK_CHARS = 4_000;
const LINE_CHARS = 16_000;

/** What a terminal obeys or hides and JSON lets through: C1 and DEL, line separators, marks that turn the direction. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const UNSAFE = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export function jsonLine(now: number, level: Written, message: string, facts: Facts): string {
  const shown = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : [`,${JSON.stringify(name)}:${jsonOf(value)}`],
  );
  const head = `{"t":"${isoTime(now)}","level":"${level}","message":${JSON.stringify(cut(message))}`;
  return `${escaped(within(head, shown))}}\n`;
}

export function textLine(
  now: number,
  level: Written,
  message: string,
  facts: Facts,
  colours: boolean,
): string {
  const shown: string[] = [];
  const stacks: string[] = [];
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined || value === null) continue;
    shown.push(` ${name}=${textOf(value)}`);
    if (value instanceof Error && value.stack !== undefined) stacks.push(indented(value.stack));
  }
  const time = isoTime(now).slice(11, -1);
  const word = colours ? `${COLOURS[level]}${level.padEnd(5)}\x1b[0m` : level.padEnd(5);
  const line = within(oneLine(message), shown);
  return `${time} ${word} ${escaped(line)}\n${stacks.map(escaped).join('')}`;
}

const COLOURS: Readonly<Record<Written, string>> = {
  debug: '\x1b[2m',
  info: '\x1b[36m',
  warn: '\x1b[33m',
  error: '\x1b[31m',
};

/** Whole facts only: half of one would be no JSON. */
function within(head: string, facts: readonly string[]): string {
  let line = head;
  for (const fact of facts) if (line.length + fact.length <= LINE_CHARS) line += fact;
  return line;
}

/** Errors print as their message, cause and stack; everything else as it is. */
function jsonOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  if (typeof value === 'string') return JSON.stringify(cut(value));
  if (value instanceof Error) return JSON.stringify(errorFacts(value));
  const json = JSON.stringify(value) ?? 'null';
  return json.length <= TEXT_CHARS ? json : JSON.stringify(cut(json));
}

function errorFacts({ message, stack, cause }: Error): Facts {
  return {
    error: cut(message),
    stack: stack === undefined ? undefined : cut(stack, STACK_CHARS),
    ...(cause instanceof Error && { cause: cut(cause.message) }),
  };
}

function textOf(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(cut(value.message));
  const text = typeof value === 'string' ? cut(value) : jsonOf(value);
  return /^[\w.:/@#+-]+$/.test(text) || typeof value !== 'string' ? text : JSON.stringify(text);
}

function oneLine(text: string): string {
  return JSON.stringify(cut(text)).slice(1, -1).replaceAll('\\"', '"');
}

/** What an error says of itself may have lines, too: none of them stands where a line of the log begins. */
function indented(stack: string): string {
  const lines = cut(stack, STACK_CHARS).split(/\r\n|[\n\r\v\f]/);
  return lines.map((line) => `    ${oneLine(line)}\n`).join('');
}

function cut(text: string, chars = TEXT_CHARS): string {
  return text.length <= chars ? text : `${text.slice(0, chars).toWellFormed()}…`;
}

function escaped(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
