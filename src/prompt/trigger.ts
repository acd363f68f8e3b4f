/** What a child is told of the run that started it. */

import type { TriggerContext } from '../domain/schedule.ts';

const OUTPUT_CHARS = 5_000;
const SHELL_CHARS = 3_000;

export function triggerBlock(trigger: TriggerContext | null): string | null {
  if (trigger === null) return null;
  return [
    '--- Trigger Context ---',
    `Triggered by: ${trigger.scheduleName} (run ${trigger.runId})`,
    `Parent run status: ${trigger.status}`,
    ...(isShell(trigger) ? shellLines(trigger) : outputLines(trigger.output)),
    '---',
  ].join('\n');
}

/** Only a command has an exit code, or says something on stderr. */
function isShell({ exitCode, stderr }: TriggerContext): boolean {
  return exitCode !== null || stderr !== null;
}

function shellLines({ exitCode, output, stderr }: TriggerContext): string[] {
  return [
    'Parent shell result:',
    `exit code: ${exitCode ?? 'none (killed)'}`,
    ...section('stdout', output),
    ...section('stderr', stderr ?? ''),
  ];
}

function section(name: string, text: string): string[] {
  return text === '' ? [] : [`${name}:`, cut(text, SHELL_CHARS)];
}

function outputLines(output: string): string[] {
  return output === '' ? [] : ['Parent run output:', cut(output, OUTPUT_CHARS)];
}

/** A cut never leaves half a character behind. */
function cut(text: string, chars: number): string {
  if (text.length <= chars) return text.trimEnd();
  const kept = text.slice(0, chars);
  return kept.isWellFormed() ? kept : kept.slice(0, -1);
}
