/** OpenClaw's own cron: `cron/jobs.json`, a list of jobs with a schedule, a payload and a delivery each. */

import { type Foreign, isSaid, present, type Source, type Unfit, unreadNote } from './foreign.ts';

type Fields = Readonly<Record<string, unknown>>;

/** `zone` is the machine's: a cron rule without one goes by it. Null when the value is no such file. */
export function readOpenClaw(value: unknown, zone: string): Source | null {
  const jobs = objectOf(value)['jobs'];
  if (!Array.isArray(jobs)) return null;
  const schedules: Foreign[] = [];
  const unfit: Unfit[] = [];
  for (const [index, each] of (jobs as unknown[]).entries()) {
    const read = jobOf(objectOf(each), index, zone);
    if ('reason' in read) unfit.push(read);
    else schedules.push(read);
  }
  return { kind: 'openclaw', aliases: [], schedules, unfit, notes: [] };
}

function jobOf(job: Fields, index: number, zone: string): Foreign | Unfit {
  const name = textOf(job['name']) ?? textOf(job['id']) ?? `job ${index + 1}`;
  const when = triggerOf(objectOf(job['schedule']), job, zone);
  if (typeof when === 'string') return { name, reason: when };
  const notes: string[] = [];
  const payload = objectOf(job['payload']);
  const fields = present({
    name,
    description: job['description'],
    enabled: job['enabled'] !== false,
    ...when,
    ...placeOf(textOf(job['sessionTarget']) ?? 'isolated', notes),
    agent_id: textOf(job['agentId'])?.toLowerCase(),
    payload_kind: payload['kind'],
    payload_message: payload['message'] ?? payload['text'],
    payload_model: payload['model'],
    payload_thinking: payload['thinking'],
    payload_timeout_seconds: positive(payload['timeoutSeconds']),
    ...deliveryOf(objectOf(job['delivery']), payload, notes),
    delete_after_run: job['deleteAfterRun'] === true ? true : undefined,
  });
  notes.push(...unreadNote(unreadIn(job)));
  return { key: textOf(job['id']) ?? name, name, parentKey: null, fields, notes };
}

/** What is read above and below, and what only says how the job fared there. */
const READ: Readonly<Record<string, readonly string[]>> = {
  '': (
    'name id description enabled schedule sessionTarget agentId payload delivery deleteAfterRun ' +
    'state createdAtMs updatedAtMs'
  ).split(' '),
  schedule: ['kind', 'expr', 'tz', 'everyMs', 'anchorMs', 'at', 'atMs'],
  payload: ['kind', 'message', 'text', 'model', 'thinking', 'timeoutSeconds'],
  delivery: ['mode', 'channel', 'to'],
};

function unreadIn(job: Fields): string[] {
  return Object.entries(READ).flatMap(([part, read]) => {
    const said = Object.entries(part === '' ? job : objectOf(job[part]));
    // Here an event reaches the main session at once, too.
    const isUnread = ([key, value]: [string, unknown]): boolean =>
      !read.includes(key) && isSaid(value) && !(key === 'wakeMode' && value === 'now');
    return said.filter(isUnread).map(([key]) => (part === '' ? key : `${part}.${key}`));
  });
}

/** A reason instead when there is no such clock here. */
function triggerOf(schedule: Fields, job: Fields, zone: string): Fields | string {
  switch (schedule['kind']) {
    case 'cron':
      return { schedule_cron: schedule['expr'], schedule_tz: textOf(schedule['tz']) ?? zone };
    case 'every': {
      const anchor = positive(schedule['anchorMs']) ?? positive(job['createdAtMs']);
      return present({ schedule_every_ms: schedule['everyMs'], schedule_at: anchor });
    }
    case 'at':
      return { schedule_at: utc(schedule['at'] ?? schedule['atMs']) };
    default:
      return `its schedule is of the kind ${JSON.stringify(schedule['kind'] ?? null)}, which is not known`;
  }
}

/** Without an offset it means UTC there. */
function utc(value: unknown): unknown {
  const isBare = typeof value === 'string' && /^\d{4}-\d\d-\d\d[T ][\d:.]+$/.test(value);
  return isBare ? `${value}Z` : value;
}

/** `session:<key>` is a session that goes on. */
function placeOf(target: string, notes: string[]): Fields {
  if (target === 'main' || target === 'isolated') return { session_target: target };
  const key = /^session:(.+)$/.exec(target)?.[1];
  if (key === undefined)
    notes.push(
      `its sessionTarget ${JSON.stringify(target)} is not known here: it runs in a session of its own`,
    );
  return present({ session_target: 'isolated', preferred_session_key: key });
}

function deliveryOf(delivery: Fields, payload: Fields, notes: string[]): Fields {
  const { mode, channel, to } = delivery;
  if (mode === 'webhook') {
    notes.push('its webhook is sent what Spine delivers: the reply, signed, not the event of OpenClaw');
    return { delivery_mode: 'announce-always', delivery_channel: 'webhook', delivery_to: to };
  }
  const isLast = channel === undefined || channel === null || channel === 'last';
  // An event in the main session has no reply.
  const isLost =
    isSaid(mode) && mode !== 'none' && !isSaid(to) && isLast && payload['kind'] !== 'systemEvent';
  if (isLost)
    notes.push('its replies went to the chat used last, and it names none: say where with delivery_to');
  return { delivery_mode: mode, delivery_channel: isLast ? undefined : channel, delivery_to: to };
}

function objectOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? Math.ceil(value) : undefined;
}
