/** When a schedule fires, as a sentence. */

import { conditionParts } from './condition.ts';
import { ruleInWords } from './cron-words.ts';
import { isoTime } from './iso-time.ts';
import { type Schedule, type ScheduleSpec, timeRule } from './schedule.ts';

/** Of a long condition this much is shown. */
const SHOWN_CHARS = 60;
const ENDS = { success: 'succeeds', failure: 'fails', complete: 'ends' } as const;

/** `parentName` is null when there is no parent, or the reader may not know it. */
export function scheduleInWords(
  schedule: Pick<Schedule, 'spec' | 'createdAt'>,
  parentName: string | null,
): string {
  return [triggerInWords(schedule, parentName), ...limitsInWords(schedule.spec)].join(', ');
}

function triggerInWords(schedule: Pick<Schedule, 'spec' | 'createdAt'>, parentName: string | null): string {
  const { scheduleKind, triggerOn, triggerCondition, triggerDelayS } = schedule.spec;
  if (scheduleKind === 'manual') return 'Only by hand';
  if (scheduleKind !== 'child') return ruleInWords(timeRule(schedule));
  const parent = parentName === null ? 'its parent' : `“${parentName}”`;
  return [
    `After ${parent} ${ENDS[triggerOn ?? 'complete']}`,
    ...(triggerCondition === null ? [] : [conditionInWords(triggerCondition)]),
    ...(triggerDelayS > 0 ? [`${triggerDelayS} s later`] : []),
  ].join(', ');
}

function conditionInWords(condition: string): string {
  const { kind, operand } = conditionParts(condition);
  const shown = operand.length > SHOWN_CHARS ? `${operand.slice(0, SHOWN_CHARS).toWellFormed()}…` : operand;
  return `when its output ${kind === 'regex' ? 'matches' : 'contains'} ${shown}`;
}

function limitsInWords({ jitterS, endsAt, maxRuns }: ScheduleSpec): string[] {
  const words: string[] = [];
  if (jitterS > 0) words.push(`up to ${jitterS} s later`);
  if (endsAt !== null) words.push(`until ${isoTime(endsAt).replace('.000Z', 'Z')}`);
  if (maxRuns !== null) words.push(maxRuns === 1 ? 'once' : `at most ${maxRuns} times`);
  return words;
}
