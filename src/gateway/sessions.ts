/** What a gateway shows of its sessions: over the WebSocket the live list and the task ledger, over HTTP the stored rows. */

import { requestRefused } from './classify.ts';
import { at, credentials, type Access } from './access.ts';
import { callWithin } from './http.ts';
import { type Fields, fields, items, numberOf, parsed, textOf } from './json.ts';
import { sessionName } from './session-names.ts';
import type { GatewaySocket } from './socket.ts';
import type { Activity, TurnRef } from './types.ts';

const LISTED_MAX = 100;
const TASKS_MAX = 20;
const MESSAGES_MAX = 200;
const MESSAGE_MAX_CHARS = 500_000;
/** A session counts as active by its last change, which is the start of its turn at the latest. */
const ACTIVE_SLACK_MINUTES = 10;

/** An activity, and how the session's last run ended. */
export interface Sight extends Activity {
  readonly ended: string | null;
  /** False for gateways that do not say whether a session is running. */
  readonly tellsEnd: boolean;
}

export interface Sessions {
  look(turn: TurnRef): Promise<Sight>;
  messages(turn: TurnRef): Promise<readonly unknown[]>;
}

export function socketSessions(socket: GatewaySocket): Sessions {
  return {
    look: async (turn) => {
      const key = sessionName(turn);
      const [list, ledger] = await Promise.all([
        socket.request('sessions.list', { activeOnly: true, search: key, limit: LISTED_MAX }),
        // Without the ledger the live list still says whether it runs.
        socket.request('tasks.list', { sessionKey: key, limit: TASKS_MAX }).catch(() => ({})),
      ]);
      const live = sessionsIn(list).find((row) => row['key'] === key && row['hasActiveRun'] !== false);
      if (live !== undefined)
        return waits(live, ledger, turn.runKey)
          ? sight('queued')
          : sight('running', markOf(ledger, turn.runKey));
      const { session } = await socket.request('sessions.describe', { key });
      if (session === null || session === undefined) return sight('absent');
      const { status } = fields(session);
      // Stored as running and run by nobody: cut off by a crash. The gateway resumes such sessions one by one.
      return isOver(status) ? { ...sight('ended'), ended: status } : sight('unknown');
    },
    messages: async (turn) => {
      const answer = await socket.request('chat.history', {
        sessionKey: sessionName(turn),
        limit: MESSAGES_MAX,
        maxChars: MESSAGE_MAX_CHARS,
      });
      return items(answer['messages']);
    },
  };
}

export function listedSessions(access: Access): Sessions {
  return {
    look: async (turn) => {
      const key = sessionName(turn);
      const ageMs = Math.max(0, access.clock.now() - turn.startedAt);
      const minutes = Math.ceil(ageMs / 60_000) + ACTIVE_SLACK_MINUTES;
      const args = { activeMinutes: minutes, limit: LISTED_MAX, messageLimit: 0, search: key };
      const rows = sessionsIn(await invoke(access, 'sessions_list', args));
      const row = rows.find((row) => [row['key'], row['sessionKey']].includes(key));
      return row === undefined ? sight('absent') : stored(row);
    },
    messages: async (turn) => {
      const args = { sessionKey: sessionName(turn), limit: MESSAGES_MAX };
      const result = fields(await invoke(access, 'sessions_history', args));
      return items(fields(result['details'])['messages'] ?? result['messages']);
    },
  };
}

/** Today's gateways change `updatedAt` at the start and the end of a turn only; where there is a status, it says nothing. */
function stored({ status, abortedLastRun, updatedAt }: Fields): Sight {
  if (textOf(status) === null) {
    const mark = updatedAt === undefined || updatedAt === null ? null : JSON.stringify(updatedAt);
    return { ...sight('running'), mark, tellsEnd: false };
  }
  if (isOver(status)) return { ...sight('ended'), ended: status };
  if (abortedLastRun === true) return sight('unknown');
  return sight(status === 'queued' ? 'queued' : 'running');
}

function isOver(status: unknown): status is string {
  return typeof status === 'string' && status !== 'running' && status !== 'queued';
}

function sight(status: Activity['status'], { mark, tool }: Marked = UNMARKED): Sight {
  return { status, mark, tool, ended: null, tellsEnd: true };
}

type Marked = Pick<Activity, 'mark' | 'tool'>;
const UNMARKED: Marked = { mark: null, tool: null };

/**
 * From our own row, or from that of the run that resumed the session; rows of other kinds are what a turn left in the
 * background. A turn that waits for a lane cannot be active.
 */
function markOf(ledger: Fields, runKey: string): Marked {
  const open = items(ledger['tasks'])
    .map(fields)
    .filter((task) => stateOf(task) !== 'finished');
  const task = open.find(({ runId }) => runId === runKey) ?? open.find(({ kind }) => kind === 'cli');
  if (task === undefined || stateOf(task) !== 'running') return UNMARKED;
  const { lastActivityAt, currentTool } = fields(task['execution']);
  const tool = textOf(fields(currentTool)['name']);
  const parts = [task['runId'], lastActivityAt, task['toolUseCount'], tool, fields(currentTool)['startedAt']];
  return { mark: numberOf(lastActivityAt) === null ? null : JSON.stringify(parts), tool };
}

/** For a lane of the gateway, or for the turns before it in its session: then only the ledger tells it from them. */
function waits(session: Fields, ledger: Fields, runKey: string): boolean {
  const own = items(ledger['tasks'])
    .map(fields)
    .find(({ runId }) => runId === runKey);
  return (own === undefined ? session['status'] : stateOf(own)) === 'queued';
}

function stateOf(task: Fields): unknown {
  return fields(task['execution'])['state'];
}

/** Gateways have wrapped the list in different ways. Anything else is no list, and must not pass for an empty one. */
function sessionsIn(answer: unknown): readonly Fields[] {
  const result = fields(answer);
  const candidates = [fields(result['details'])['sessions'], result['sessions'], answer];
  const list = candidates.find((candidate) => Array.isArray(candidate));
  if (list === undefined) throw new Error('the gateway sent no list of sessions');
  return items(list).map(fields);
}

/** The tool's result; the whole answer where the gateway does not wrap it. */
async function invoke(access: Access, tool: string, args: Fields): Promise<unknown> {
  const answer = await callWithin(access.limits.requestMs, access.clock, {
    url: at(access, '/tools/invoke'),
    method: 'POST',
    headers: credentials(access),
    body: JSON.stringify({ tool, args, sessionKey: 'main' }),
  });
  if (answer.status !== 200) throw requestRefused(answer);
  const body = parsed(answer.body);
  return fields(body)['result'] ?? body;
}
