/** `spine workers …`: who works, since when, on what; and what they are asked to do. */

import type { Caller } from '../../client/caller.ts';
import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import { type Manager, workerUnit } from '../service/worker-units.ts';
import type { Session } from '../session.ts';
import { type Line, type Piece, styled } from '../text/line.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';
import { confirm } from './confirm.ts';
import { liveView } from './live-view.ts';

interface Heartbeat {
  readonly slot: string;
  readonly status: 'idle' | 'working' | 'offline';
  readonly task: string | null;
  readonly taskTitle: string | null;
  readonly lastUpdate: number;
  readonly startedAt: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export const listWorkers: Handler = async (session) => {
  const workers = await read(session, await session.caller());
  session.out.result({
    value: { workers },
    lines: () => {
      if (workers.length === 0) session.none('No workers yet. Start one with: npx spine worker slot-1');
      return workers.length === 0 ? [] : workerTable(workers, session.now(), session.out.columns);
    },
    ids: () => workers.map(({ slot }) => slot),
  });
};

export const topWorkers: Handler<{ readonly interval: number; readonly once?: boolean }> = async (
  session,
  { options },
) => {
  if (options.once || session.out.json) return listWorkers(session, { args: [], options: {} });
  if (!session.host.stdout.isTTY) throw usage('top needs a terminal.', 'Use: npx spine workers top --once');
  const caller = await session.caller();
  await liveView(session, Math.max(100, options.interval), async () => {
    const workers = await read(session, caller);
    const busy = workers.filter(({ status }) => status === 'working').length;
    return ({ columns, rows }) => [
      [styled('bold', 'Workers'), ` ${workers.length}, ${busy} at work  `, styled('dim', 'q ends')],
      '',
      ...workerTable(workers, session.now(), columns).slice(0, Math.max(1, rows - 2)),
    ];
  });
};

export const drainWorker: Handler = (session, { args: [slot = ''] }) =>
  ask(session, slot, 'drain', `${slot} finishes what it has and takes nothing new.`);

export const resumeWorker: Handler = (session, { args: [slot = ''] }) =>
  ask(session, slot, 'resume', `${slot} takes work again.`);

export const removeWorker: Handler<{ readonly yes?: boolean }> = async (
  session,
  { args: [slot = ''], options },
) => {
  await confirm(session, `Forget the worker ${slot}?`, options.yes);
  const caller = await session.caller();
  const path = `/api/heartbeats/${encodeURIComponent(slot)}`;
  const value = await caller.json<object>({ method: 'DELETE', path, repeatable: true });
  session.out.result({ value, lines: () => [`${slot} is forgotten.`], ids: () => [slot] });
};

export const printUnit: Handler = async (session, { args: [manager, ...slots] }) => {
  if (manager !== 'pm2' && manager !== 'systemd') throw usage('The manager must be pm2 or systemd.');
  const text = workerUnit(
    manager satisfies Manager,
    slots.length === 0 ? ['slot-1'] : slots,
    session.host.machine(),
  );
  session.out.result({ value: { manager, text }, lines: () => text.trimEnd().split('\n') });
};

async function ask(session: Session, slot: string, verb: 'drain' | 'resume', words: string): Promise<void> {
  const caller = await session.caller();
  const path = `/api/heartbeats/${encodeURIComponent(slot)}/${verb}`;
  const value = await caller.json<Heartbeat>({ method: 'POST', path, json: {}, repeatable: true });
  session.out.result({ value, lines: () => [words], ids: () => [slot] });
}

async function read({ signal }: Session, caller: Caller): Promise<Heartbeat[]> {
  const call = { method: 'GET', path: '/api/heartbeats', repeatable: true, options: { signal } } as const;
  const { workers } = await caller.json<{ workers: Record<string, Heartbeat> }>(call);
  return Object.values(workers);
}

const COLUMNS = [
  { head: 'slot' },
  { head: 'status' },
  { head: 'heard' },
  { head: 'started' },
  { head: 'restarts', right: true },
  { head: 'pid', right: true },
  { head: 'task', gives: true },
];

function workerTable(workers: readonly Heartbeat[], nowMs: number, columns: number): Line[] {
  const rows = workers.map(({ slot, status, lastUpdate, startedAt, taskTitle, task, metadata }): Piece[] => [
    slot,
    statusPiece(status, metadata),
    relative(lastUpdate, nowMs),
    relative(startedAt, nowMs),
    text(metadata['restartCount']),
    text(metadata['workerPid']),
    taskTitle ?? task ?? '-',
  ]);
  return table(COLUMNS, rows, columns);
}

function statusPiece(status: Heartbeat['status'], { draining, offlineReason }: Heartbeat['metadata']): Piece {
  const why = typeof offlineReason === 'string' ? ` (${offlineReason})` : '';
  const words = `${status}${why}${draining === true ? ' (draining)' : ''}`;
  return status === 'working' ? styled('green', words) : status === 'offline' ? styled('dim', words) : words;
}

function text(value: unknown): string {
  return typeof value === 'number' ? String(value) : '-';
}
