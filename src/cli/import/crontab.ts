/** A user's crontab: each line a rule and a shell command, with the variables that stand above it. */

import { createHash } from 'node:crypto';
import { type Foreign, type Source, type Unfit } from './foreign.ts';

const NAME_CHARS = 80;
const VARIABLE = /^([A-Za-z_]\w*)\s*=\s*(?:"([^"]*)"|'([^']*)'|(.*?))\s*$/;
const ENTRY = /^(@[a-z]+|(?:\S+\s+){4}\S+)\s+(.+)$/;
const FIELD = /^[\d*?,/A-Za-z~-]+$/;

/** Read as cron does: a variable counts for what follows it. `zone` is the machine's. Null when no line is an entry. */
export function readCrontab(text: string, zone: string): Source | null {
  const schedules: Foreign[] = [];
  const unfit: Unfit[] = [];
  const variables = new Map<string, string>();
  const seen = new Map<string, number>();
  let comment: string | null = null;
  let tz = zone;
  for (const line of text.split(/\r?\n/).map((each) => each.trim())) {
    if (line === '' || line.startsWith('#')) {
      comment = line.startsWith('#') ? line.replace(/^#+\s*/, '') : null;
      continue;
    }
    const variable = VARIABLE.exec(line);
    if (variable !== null) {
      const [, name = '', double, single, bare = ''] = variable;
      const value = double ?? single ?? bare;
      if (name === 'CRON_TZ') tz = value === '' ? zone : value;
      else variables.set(name, value);
      continue;
    }
    const [, rule, command] = ENTRY.exec(line) ?? [];
    if (rule === undefined || command === undefined || !isRule(rule)) return null;
    const name = (comment ?? command).slice(0, NAME_CHARS).toWellFormed();
    comment = null;
    if (rule === '@reboot') {
      unfit.push({ name, reason: 'it runs when the machine starts, and no schedule here does' });
      continue;
    }
    const whole = commandOf(command, variables);
    const again = seen.get(line) ?? 0;
    seen.set(line, again + 1);
    const key = createHash('sha256')
      .update(JSON.stringify([tz, rule, whole, again]))
      .digest('hex')
      .slice(0, 16);
    const fields = {
      name,
      schedule_cron: rule,
      schedule_tz: tz,
      session_target: 'shell',
      payload_message: whole,
    };
    const mail = variables.get('MAILTO') ?? '';
    const notes = mail === '' ? [] : [`what it prints is kept with its runs, not mailed to ${mail}`];
    schedules.push({ key, name, parentKey: null, fields, notes });
  }
  return schedules.length + unfit.length === 0
    ? null
    : { kind: 'crontab', aliases: [], schedules, unfit, notes: [] };
}

function isRule(rule: string): boolean {
  return rule.startsWith('@') || rule.split(/\s+/).every((field) => FIELD.test(field));
}

/** Not for the command: cron's own. */
const CRONS = new Set(['SHELL', 'MAILTO', 'MAILFROM', 'CRON_TZ', 'RANDOM_DELAY']);

function commandOf(text: string, variables: ReadonlyMap<string, string>): string {
  const { command, input } = withInput(text);
  const given = [...variables].filter(([name]) => !CRONS.has(name));
  const exported = given.map(([name, value]) => `export ${name}=${quoted(value)}\n`).join('');
  const shell = variables.get('SHELL') ?? '/bin/sh';
  const run = shell === '/bin/sh' ? command : `${shell} -c ${quoted(command)}`;
  if (input === null) return `${exported}${run}`;
  return `${exported}{\n${run}\n} <<'END_OF_INPUT'\n${input}\nEND_OF_INPUT`;
}

/** The first % ends the command, what follows is its input, and further ones are line ends; \% is a percent sign. */
function withInput(text: string): { command: string; input: string | null } {
  const [command = '', ...lines] = text.split(/(?<!\\)%/).map((part) => part.replaceAll('\\%', '%'));
  return { command: command.trim(), input: lines.length === 0 ? null : lines.join('\n') };
}

function quoted(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}
