/** What a child is told of the run that started it. */

import type { TriggerContext } from '../domain/schedule.ts';
import { oneLine, quoted } from './quote.ts';

const OUTPUT_CHARS = 5_000;
const SHELL_CHARS = 3_000;

export function triggerBlock(trigger: TriggerContext | null, nonce: string): string | null {
  if (trigger === null) return null;
  return [
    '--- Trigger Context ---',
    ...triggeredBy(trigger, nonce),
    `Parent run status: ${trigger.status}`,
    ...(isShell(trigger) ? shellLines(trigger, nonce) : outputLines(trigger.output, nonce)),
    '---',
  ].join('\n');
}

/** A name that a run wrote is no more to be trusted than its output. */
function triggeredBy({ scheduleName: name, runId, isSpawned }: TriggerContext, nonce: string): string[] {
  if (isSpawned !== true) return [`Triggered by: ${oneLine(name)} (run ${runId})`];
  return [`Triggered by: a job that a run asked for (run ${runId}) and called`, quoted(oneLine(name), nonce)];
}

/** Only a command has an exit code, or says something on stderr. */
function isShell({ exitCode, stderr }: TriggerContext): boolean {
  return exitCode !== null || stderr !== null;
}

function shellLines({ exitCode, output, stderr }: TriggerContext, nonce: string): string[] {
  return [
    'Parent shell result:',
    `exit code: ${exitCode ?? 'none (killed)'}`,
    ...section('stdout', output, nonce),
    ...section('stderr', stderr ?? '', nonce),
  ];
}

function section(name: string, text: string, nonce: string): string[] {
  return text === '' ? [] : [`${name}:`, quoted(cut(text, SHELL_CHARS), nonce)];
}

function outputLines(output: string, nonce: string): string[] {
  return output === '' ? [] : ['Parent run output:', quoted(cut(output, OUTPUT_CHARS), nonce)];
}

/** A cut never leaves half a character behind. */
function cut(text: string, chars: number): string {
  if (text.length <= chars) return text.trimEnd();
  const kept = text.slice(0, chars);
  return kept.isWellFormed() ? kept : kept.slice(0, -1);
}
