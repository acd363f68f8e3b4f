/** What the scheduler itself has to say to an agent. */

import type { ScheduleSpec } from '../domain/schedule.ts';

export function modelSection(thinking: string | null): string | null {
  if (thinking === null) return null;
  return `[SYSTEM NOTE -- model policy]\nPrefer reasoning depth: ${thinking}.\n[END SYSTEM NOTE]`;
}

const MEMORY_FLUSH = `[SYSTEM: Pre-compaction flush required]
Write a structured summary of: active decisions, constraints, task owners, open questions.
Format as labeled sections. If nothing needs flushing, respond with exactly: NO_FLUSH
[END SYSTEM]`;

export function memoryFlushSection(jobClass: ScheduleSpec['jobClass']): string | null {
  return jobClass === 'pre_compaction_flush' ? MEMORY_FLUSH : null;
}

const GLOBAL_SCOPE = `[SYSTEM NOTE -- scope=global]
This job may look at the sub-agents of every session, not only at its own.
To find them, do NOT use \`subagents list\`: it shows only what this session started.
Call \`sessions_list\` with no session filter instead, which shows the sessions of all requesters,
and pick those you are asked about by their session key or agent id.
Look at them only; they belong to others.
[END SYSTEM NOTE]`;

export function scopeSection(scope: ScheduleSpec['payloadScope']): string | null {
  return scope === 'global' ? GLOBAL_SCOPE : null;
}
