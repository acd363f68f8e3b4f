/** Workers with slots, the sessions that they run, and tasks at the bridge. */

import type { Mutant } from '../mutant.ts';

const ENGINE = ['test/engine/workers.test.ts'];
const TASKS = ['test/engine/tasks.test.ts'];
const BRIDGE = ['test/http/bridge.test.ts'];
const SESSIONS = ['test/worker/service/sessions.test.ts'];
const CRASH = ['test/worker/service/crash.test.ts'];

export const WORKERS: readonly Mutant[] = [
  {
    name: 'conversation-gone',
    means: 'a task whose conversation is on another machine is blocked instead of being begun anew',
    file: 'src/worker/sessions/claude-runner.ts',
    find: `if (!isOther || killed || order.conversation === null) return end;`,
    replace: `if (isOther || killed || order.conversation === null || !end.ok || end.ok) return end;`,
    seenBy: ['test/worker/service/sessions.test.ts'],
    only: 'where the conversation is not known',
  },
  {
    name: 'session-not-told',
    means:
      'the session of a worker is not told the checkpoint, the answers and the messages that came with its task',
    file: 'src/worker/sessions/task-order.ts',
    find: `prompt: withTold(prompt, job, terms.nonce),`,
    replace: `prompt,`,
    seenBy: ['test/worker/task-order.test.ts'],
  },
  {
    name: 'slot-twice',
    means: 'two living processes have one slot',
    file: 'src/domain/worker-slot.ts',
    find: `return known.status !== 'offline' && !isStale(known, staleMs, now);`,
    replace: `return known.status === 'working' && false;`,
    seenBy: ENGINE,
  },
  {
    name: 'slot-beat-of-a-stranger',
    means: 'a worker that lost its slot overwrites the heartbeats of the next',
    file: 'src/engine/workers.ts',
    find: `if (known.instance !== beat.instance || known.takenBy !== actor.name) throw taken(known, now);`,
    replace: `if (known.takenBy !== actor.name) throw taken(known, now);`,
    seenBy: ENGINE,
  },
  {
    name: 'watchdog-takes-live-lease',
    means: 'the watchdog takes the task of a worker that renews its lease',
    file: 'src/engine/silent-workers.ts',
    find: `job.leaseUntil !== null && job.leaseUntil > now`,
    replace: `false`,
    seenBy: ENGINE,
  },
  {
    name: 'watchdog-takes-next-claim',
    means: 'a silent worker costs another one the same task',
    file: 'src/domain/worker-slot.ts',
    find: ` && job.attempts === attempt`,
    replace: ``,
    seenBy: ENGINE,
  },
  {
    name: 'slot-gives-back-what-is-not-its-own',
    means: 'a worker names the task of another one in its heartbeats, and takes it away by starting again',
    file: 'src/domain/worker-slot.ts',
    find: ` && job.claimedBy === takenBy`,
    replace: ``,
    seenBy: ['test/engine/slot-rights.test.ts'],
  },
  {
    name: 'slot-beat-by-another-token',
    means: 'whoever reads the heartbeats can say that another worker is offline',
    file: 'src/engine/workers.ts',
    find: ` || known.takenBy !== actor.name) throw taken`,
    replace: `) throw taken`,
    seenBy: ['test/engine/slot-rights.test.ts'],
  },
  {
    name: 'watchdog-resets-good-bye',
    means: 'a worker that left in good order is reported as lost',
    file: 'src/domain/worker-slot.ts',
    find: `return status !== 'offline' && now - lastUpdate > staleMs;`,
    replace: `return now - lastUpdate > staleMs;`,
    seenBy: ['test/domain/worker-slot.test.ts'],
  },
  {
    name: 'metadata-replaced',
    means: 'what is said about a task later wipes out what was said before',
    file: 'src/domain/meta.ts',
    find: `{ ...metaFacts(meta), ...metaFacts(metadata) }`,
    replace: `{ ...metaFacts(metadata) }`,
    seenBy: TASKS,
  },
  {
    name: 'metadata-without-its-status',
    means: 'a refused move of a card changes the card all the same',
    file: 'src/engine/flush.ts',
    find: `if (command.kind === 'edit' && command.onlyIf !== null && !accepted(command.onlyIf)) {`,
    replace: `if (command.kind === 'edit' && command.onlyIf !== null && false) {`,
    seenBy: TASKS,
  },
  {
    name: 'worker-ends-review',
    means: 'a worker says that its own work was looked at',
    file: 'src/domain/task.ts',
    find: `['cancel', 'retry', 'reviewed']`,
    replace: `['cancel', 'retry']`,
    seenBy: TASKS,
  },
  {
    name: 'bridge-open-to-proxies',
    means: 'whoever comes through a proxy of this machine needs no token',
    file: 'src/http/doors/bridge/keys.ts',
    find: `PROXIED.every((name) => headers[name] === undefined)`,
    replace: `true`,
    seenBy: BRIDGE,
  },
  {
    name: 'bridge-open-unasked',
    means: 'the bridge lets programs in without a token although nobody said so',
    file: 'src/http/doors/bridge/keys.ts',
    find: `if (!letsNeighboursIn(parts)) return tokens;`,
    replace: ``,
    seenBy: BRIDGE,
  },
  {
    name: 'session-silence-is-success',
    means: 'a session that said nothing counts as done',
    file: 'src/worker/sessions/run-session.ts',
    find: `if (end.ok && end.text.trim() !== '')`,
    replace: `if (end.ok)`,
    seenBy: SESSIONS,
  },
  {
    name: 'session-any-exit-code',
    means: 'a session that failed counts as done',
    file: 'src/worker/sessions/command-runner.ts',
    find: `if (lost === null && exitCode === 0)`,
    replace: `if (lost === null)`,
    seenBy: SESSIONS,
  },
  {
    name: 'session-anywhere',
    means: 'a task has its session work in any folder of the machine',
    file: 'src/worker/sessions/surroundings.ts',
    find: `if (roots.some((root) => folder === root || folder.startsWith(root === '/' ? root : \`\${root}/\`)))`,
    replace: `if (roots.length > 0)`,
    seenBy: SESSIONS,
  },
  {
    name: 'session-sees-everything',
    means: 'sessions find the secrets of the worker in their environment',
    file: 'src/worker/sessions/surroundings.ts',
    find: `const passed = [...ALWAYS, ...env].flatMap((name) => {`,
    replace: `const passed = [...Object.keys(from), ...env].flatMap((name) => {`,
    seenBy: SESSIONS,
  },
  {
    name: 'claude-error-is-success',
    means: 'Claude Code says that it failed, and the task counts as done',
    file: 'src/worker/sessions/claude-runner.ts',
    find: `if (said.is_error !== false || said.subtype !== 'success')`,
    replace: `if (said.subtype === undefined)`,
    seenBy: SESSIONS,
  },
  {
    name: 'session-outlives-worker',
    means: 'the session of a worker that was killed goes on beside the next',
    file: 'src/worker/sessions/guardian.ts',
    find: `  kill -TERM 0
  sleep 1
  kill -KILL 0
) &`,
    replace: `) &`,
    seenBy: ['test/worker/guardian.test.ts'],
  },
  {
    name: 'session-of-a-frozen-worker',
    means: 'the session of a worker that stands still goes on beside the next',
    file: 'src/worker/sessions/guardian.ts',
    find: `sleep "$limit"; kill -KILL 0) &`,
    replace: `sleep "$limit") &`,
    seenBy: CRASH,
  },
];
