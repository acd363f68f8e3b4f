/** Schedules, runs and approvals as people read them. */

import type { Approval, Run, Schedule, ScheduleNode } from '../../client/index.ts';
import { type Line, type Piece, styled } from '../text/line.ts';
import type { Session } from '../session.ts';
import { statusText } from '../text/run-statuses.ts';
import { table } from '../text/table.ts';
import { duration, relative } from '../text/times.ts';
import { block, fact } from './job-lines.ts';
import { shortIds } from './schedule-ref.ts';

/** "Weekdays at 09:00 Europe/Stockholm, next in 2h". */
function whenText({ rule, next_run_at }: Schedule, nowMs: number): string {
  return next_run_at === null ? rule : `${rule}, next ${relative(next_run_at, nowMs)}`;
}

/** One line after something was done to a schedule. */
export function scheduleLine(schedule: Schedule, did: string, nowMs: number): Line {
  return [
    styled('bold', schedule.name),
    ` ${did}: ${whenText(schedule, nowMs)} `,
    styled('dim', `(${schedule.id})`),
  ];
}

export function scheduleTable(schedules: readonly Schedule[], session: Session): Line[] {
  const nowMs = session.now();
  const short = shortIds(schedules.map(({ id }) => id));
  const rows = schedules.map((schedule): Piece[] => [
    short(schedule.id),
    schedule.name,
    schedule.rule,
    schedule.enabled ? relative(schedule.next_run_at, nowMs) : styled('gray', 'disabled'),
    statusText(schedule.last_status),
    relative(schedule.last_run_at, nowMs),
  ]);
  const heads = [
    { head: session.words.schedule },
    { head: 'name', gives: true },
    { head: 'when', gives: true },
    { head: 'next' },
    { head: 'last' },
    { head: 'ran' },
  ];
  return table(heads, rows, session.out.columns);
}

export function treeLines(nodes: readonly ScheduleNode[], nowMs: number): Line[] {
  return nodes.flatMap((node) => branchLines(node, nowMs, '', ''));
}

function branchLines(node: ScheduleNode, nowMs: number, own: string, below: string): Line[] {
  const next = node.enabled ? relative(node.next_run_at, nowMs) : 'disabled';
  const line: Line = [
    own,
    styled('bold', node.name),
    ` ${node.rule}`,
    next === '-' ? '' : `, ${node.enabled ? `next ${next}` : next}`,
    node.last_status === null ? '' : ', last ',
    node.last_status === null ? '' : statusText(node.last_status),
  ];
  return [
    line,
    ...node.children.flatMap((child, index) => {
      const isLast = index === node.children.length - 1;
      return branchLines(
        child,
        nowMs,
        `${below}${isLast ? '└─ ' : '├─ '}`,
        `${below}${isLast ? '   ' : '│  '}`,
      );
    }),
  ];
}

/** What every schedule has; the fields that were left at their defaults are for --json. */
export function scheduleDetails(schedule: Schedule, nowMs: number): Line[] {
  const when = (iso: string | null): string | undefined =>
    iso === null ? undefined : `${iso} (${relative(iso, nowMs)})`;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['id', schedule.id],
    ['when', schedule.rule],
    ['next', when(schedule.next_run_at)],
    ['last', when(schedule.last_run_at)],
    ['runs', schedule.max_runs === null ? undefined : `${schedule.run_count} of ${schedule.max_runs}`],
    ['failures', schedule.consecutive_errors === 0 ? undefined : `${schedule.consecutive_errors} in a row`],
    ['in line', schedule.queued_count === 0 ? undefined : String(schedule.queued_count)],
    ['parent', schedule.parent_id ?? undefined],
    ['condition', schedule.trigger_condition ?? undefined],
    ['runs at', placeOf(schedule)],
    ['overlap', schedule.overlap_policy ?? undefined],
    ['retries', schedule.max_retries === 0 ? undefined : String(schedule.max_retries)],
    ['pool', schedule.resource_pool ?? undefined],
    [
      'approval',
      schedule.approval_required
        ? `within ${schedule.approval_timeout_s} s, else ${schedule.approval_auto}`
        : undefined,
    ],
    ['managed by', schedule.managed_by ?? undefined],
    ['created', `${when(schedule.created_at)} by ${schedule.created_by}`],
  ];
  return [
    [
      styled('bold', `${schedule.name} `),
      schedule.enabled
        ? schedule.last_status
          ? statusText(schedule.last_status)
          : ''
        : styled('gray', 'disabled'),
    ],
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [fact(name, value)])),
    ...block('about', schedule.description ?? undefined),
    ...block('message', schedule.payload_message === '' ? undefined : schedule.payload_message),
    ...block('params', schedule.params ?? undefined),
  ];
}

function placeOf({ session_target, agent_id, target }: Schedule): string {
  if (session_target === 'queue') return `queue ${target}`;
  return session_target === 'shell' ? 'shell' : `agent ${agent_id} (${session_target})`;
}

export function runTable(runs: readonly Run[], names: ReadonlyMap<string, string>, session: Session): Line[] {
  const nowMs = session.now();
  const short = shortIds(runs.map(({ id }) => id));
  const saw = runs.map(contextWords);
  // Most runs are given their message and nothing else, and that need not be said.
  const shown = saw.some((words) => words !== '-');
  const rows = runs.map((run, i): Piece[] => [
    short(run.id),
    names.get(run.job_id) ?? run.job_id.slice(0, 13),
    statusText(run.status),
    run.kind,
    relative(run.started_at ?? run.created_at, nowMs),
    run.duration_ms === null ? '-' : duration(run.duration_ms),
    ...(shown ? [saw[i] ?? '-'] : []),
    run.error_message ?? run.summary ?? '-',
  ]);
  const heads = [
    { head: 'run' },
    { head: session.words.schedule, gives: true },
    { head: 'status' },
    { head: 'kind' },
    { head: 'when' },
    { head: 'took', right: true },
    ...(shown ? [{ head: 'saw', gives: true }] : []),
    { head: 'what', gives: true },
  ];
  return table(heads, rows, session.out.columns);
}

/** What a run was given beside its message, in a few words; the run itself shows all of it. */
function contextWords({ context_summary: context }: Run): string {
  if (context === null) return '-';
  const count = (key: string, one: string, many: string): string[] => {
    const n = Number(context[key] ?? 0);
    return n === 0 ? [] : [`${n} ${n === 1 ? one : many}`];
  };
  const words = [
    ...count('messages_injected', 'message', 'messages'),
    ...count('retrieval_results', 'earlier run', 'earlier runs'),
    ...(context['triggered_by_run'] === undefined ? [] : ['its parent']),
    ...(context['scope'] === 'global' ? ['all sessions'] : []),
  ];
  return words.length === 0 ? '-' : words.join(', ');
}

/** Where no agent was sent anything, and nothing came with the message, there is nothing to audit. */
function tellsMore(run: Run): boolean {
  return run.prompt_hash !== null || contextWords(run) !== '-';
}

export function runDetails(run: Run, session: Session): Line[] {
  const nowMs = session.now();
  const when = (iso: string | null): string | undefined =>
    iso === null ? undefined : `${iso} (${relative(iso, nowMs)})`;
  const facts: readonly (readonly [string, string | undefined])[] = [
    [session.words.schedule, run.job_id],
    ['kind', run.kind],
    ['due', when(run.due_at)],
    ['created', when(run.created_at)],
    ['started', when(run.started_at)],
    ['ended', when(run.finished_at)],
    ['took', run.duration_ms === null ? undefined : duration(run.duration_ms)],
    ['last sign', when(run.last_heartbeat)],
    ['session', run.session_key ?? undefined],
    ['triggered by', run.triggered_by_run ?? undefined],
    ['retry of', run.retry_of ?? undefined],
    ['retries', run.retry_count === 0 ? undefined : String(run.retry_count)],
    ['replay of', run.replay_of ?? undefined],
    ['prompt', run.prompt_hash === null ? undefined : `sha256 ${run.prompt_hash}`],
    ['reason', run.reason ?? undefined],
  ];
  return [
    [styled('bold', `Run ${run.id} `), statusText(run.status)],
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [fact(name, value)])),
    ...block('usage', run.usage ?? undefined),
    ...block('context', tellsMore(run) ? (run.context_summary ?? undefined) : undefined),
    ...outcome(run),
  ];
}

function outcome({ error_message, output, reason }: Run): Line[] {
  const error = error_message === reason ? null : error_message;
  return [
    ...block('error', error ?? undefined),
    ...block('output', output === null || output === error ? undefined : output.trimEnd()),
  ];
}

/** One line after something was done to a run. */
export function runLine(run: Run, did: string): Line {
  const named = styled('bold', `Run ${run.id} `);
  if (did === run.status) return [named, statusText(run.status)];
  return [named, `${did} (`, statusText(run.status), ')'];
}

/** How a run ended, and what it said. */
export function endedRun(run: Run): Line[] {
  const took = run.duration_ms === null ? '' : ` after ${duration(run.duration_ms)}`;
  return [
    [styled('bold', `Run ${run.id} `), statusText(run.status), took],
    ...outcome(run),
    ...block('reason', run.reason ?? undefined),
  ];
}

export function approvalTable(approvals: readonly Approval[], nowMs: number, columns: number): Line[] {
  const short = shortIds(approvals.map(({ id }) => id));
  const rows = approvals.map((approval): Piece[] => [
    short(approval.id),
    approval.title ?? '-',
    approvalStatus(approval),
    relative(approval.requested_at, nowMs),
    approval.status === 'pending' ? `${relative(approval.expires_at, nowMs)}: ${approval.auto}` : '-',
    approval.resolved_by ?? '-',
    approval.notes ?? '-',
  ]);
  const heads = [
    { head: 'approval' },
    { head: 'what', gives: true },
    { head: 'status' },
    { head: 'asked' },
    { head: 'else' },
    { head: 'by' },
    { head: 'reason', gives: true },
  ];
  return table(heads, rows, columns);
}

export function approvalStatus({ status }: Approval): Piece {
  const style = status === 'pending' ? 'yellow' : status === 'approved' ? 'green' : 'gray';
  return styled(style, status);
}

export function approvalDetails(approval: Approval, nowMs: number): Line[] {
  const when = (iso: string | null): string | undefined =>
    iso === null ? undefined : `${iso} (${relative(iso, nowMs)})`;
  const isOpen = approval.status === 'pending';
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['what', approval.title ?? undefined],
    ['schedule', approval.job_id ?? undefined],
    ['asked', when(approval.requested_at)],
    ['decides', isOpen ? `${when(approval.expires_at)}: ${approval.auto}` : undefined],
    ['decided', when(approval.resolved_at)],
    ['by', approval.resolved_by ?? undefined],
    ['reason', approval.notes ?? undefined],
    ['hash', approval.hash],
  ];
  return [
    [styled('bold', `Approval ${approval.id} `), approvalStatus(approval)],
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [fact(name, value)])),
  ];
}
