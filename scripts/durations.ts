/** How long test files may take, and in which order that lets them run. */
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { FileDuration } from './results.ts';

/** A test that hangs ends with its name. One that needs longer says so itself, with its `timeout` and the reason. */
export const TEST_LIMIT_MS = 60_000;

/** Most of the time tests wait for processes, sockets and limits: more files than there are processors fill it. */
export function filesAtOnce(): number {
  return availableParallelism() + 2;
}

/** What a file may take that is not named below, beside three others on a machine that has nothing else to do. */
export const BUDGET_S = 10;

/**
 * The files that take longer, with their budgets. They are started first and the longest of them before all others, so
 * that at the end no processor waits for one file.
 */
export const LONG_FILES: Readonly<Record<string, number>> = {
  'test/contention/abuse.test.ts': 30,
  'test/contention/literal-clients.test.ts': 15,
  'test/contracts/spine-sqlite.test.ts': 45,
  'test/scheduler/delivery.test.ts': 35,
  'test/contracts/scheduler-sqlite.test.ts': 30,
  'test/crash/stall.test.ts': 30,
  'test/crash/mail.test.ts': 20,
  'test/crash/checkpoint-session.test.ts': 15,
  'test/scheduler/crowd.test.ts': 30,
  'test/backup/live.test.ts': 30,
  'test/crash/feed.test.ts': 25,
  'test/crash/kill.test.ts': 25,
  'test/contracts/spine-postgres.test.ts': 25,
  'test/crash/partition.test.ts': 20,
  'test/crash/kill-database.test.ts': 15,
  'test/contention/waiters.test.ts': 20,
  'test/client/worker-server.test.ts': 20,
  'test/scheduler/crash.test.ts': 25,
  'test/scheduler/dispatch.test.ts': 20,
  'test/scheduler/recovery.test.ts': 20,
  'test/store/postgres-net.test.ts': 20,
  'test/conformance/postgres.test.ts': 20,
  'test/worker/service/crash.test.ts': 30,
  'test/worker/service/left-sessions.test.ts': 20,
  'test/worker/service/trouble.test.ts': 30,
  'test/worker/service/sessions.test.ts': 20,
  'test/backup/s3.test.ts': 15,
  'test/contracts/scheduler-postgres.test.ts': 15,
  'test/contracts/bots-postgres.test.ts': 20,
  'test/contracts/bots-sqlite.test.ts': 20,
  'test/contracts/bots-servers.test.ts': 30,
  'test/contracts/bots-s3.test.ts': 15,
  'test/installation/artifacts-s3.test.ts': 15,
  'test/installation/gateways.test.ts': 15,
  'test/scheduler/liveness.test.ts': 15,
  'test/scheduler/shell.test.ts': 15,
  'test/docs.test.ts': 15,
  'test/packages.test.ts': 45,
  'test/http/generated-clients.test.ts': 20,
  'test/crash/retries.test.ts': 30,
  'test/crash/stale.test.ts': 15,
  'test/files/server.test.ts': 15,
  'test/http/loop-hold.test.ts': 15,
  'test/crash/power-cut.test.ts': 15,
  'test/cli/main.test.ts': 15,
  'test/loops/chat.test.ts': 15,
  'test/installation/tokens.test.ts': 15,
  'test/installation/artifacts.test.ts': 20,
  'test/installation/agents.test.ts': 15,
};

/** All test files, in the order in which they should start. */
export function testFiles(root: string): readonly string[] {
  const found = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'));
  return found.toSorted((a, b) => budgetOf(b) - budgetOf(a) || (a < b ? -1 : 1));
}

function budgetOf(file: string): number {
  return LONG_FILES[file] ?? BUDGET_S;
}

const SHOWN = 10;

/** The slowest files, and a mark at those that took longer than they should: it is for people, and fails no run. */
export function slowest(durations: readonly FileDuration[]): string {
  const lines = durations
    .toSorted((a, b) => b.durationMs - a.durationMs)
    .slice(0, SHOWN)
    .map(({ file, durationMs }) => {
      const seconds = durationMs / 1_000;
      const over = seconds > budgetOf(file) ? `, over its budget of ${budgetOf(file)} s` : '';
      return `${seconds.toFixed(1).padStart(7)} s  ${file}${over}`;
    });
  return ['The slowest files:', ...lines].join('\n');
}
