/** `spine schedules add` and `update`: fields from options, from JSON, or from both. */

import type { NewSchedule, SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import type { Session } from '../session.ts';
import { scheduleLine } from './schedule-lines.ts';
import { findSchedule, scheduleId } from './schedule-ref.ts';
import { previewUpdate } from './schedules-dry-run.ts';
import { showPreview } from './schedules.ts';
import { fileText, given, json, momentOfZone, parsed, readStdin } from './values.ts';

export interface FieldOptions {
  readonly name?: string;
  readonly description?: string;
  readonly cron?: string;
  readonly every?: number;
  readonly at?: string;
  readonly in?: number;
  readonly manual?: boolean;
  readonly tz?: string;
  readonly message?: string;
  readonly command?: string;
  readonly agent?: string;
  readonly sessionTarget?: string;
  readonly target?: string;
  readonly type?: string;
  readonly params?: string;
  readonly model?: string;
  readonly parent?: string;
  readonly triggerOn?: string;
  readonly triggerDelay?: number;
  readonly triggerCondition?: string;
  readonly overlap?: string;
  readonly retries?: number;
  readonly timeLimit?: number;
  readonly pool?: string;
  readonly guarantee?: string;
  readonly catchUp?: string;
  readonly until?: string;
  readonly maxRuns?: number;
  readonly jitter?: number;
  readonly once?: boolean;
  readonly approval?: boolean;
  readonly approvalTimeout?: number;
  readonly approvalAuto?: string;
  readonly disabled?: boolean;
  readonly set?: readonly string[];
  readonly file?: string;
  readonly dryRun?: boolean;
}

export const addSchedule: Handler<FieldOptions> = async (session, { args: [body], options }) => {
  const client = await session.client();
  const fields = await fieldsOf(session, client, body, options);
  if (Object.keys(fields).length === 0)
    throw usage(
      'There is nothing to schedule.',
      `Write --name, --cron and --message, or a ${session.words.schedule} as JSON.`,
    );
  if (options.dryRun) return previewFields(session, client, fields);
  // The server looks at every field, and says what is wrong with it.
  const schedule = await client.schedules.create(fields as unknown as NewSchedule);
  session.out.result({
    value: schedule,
    lines: () => [scheduleLine(schedule, 'created', session.now())],
    ids: () => [schedule.id],
  });
};

/** Makes the schedule of that name as it is described, whether or not there is one. */
export const setSchedule: Handler<FieldOptions> = async (session, { args: [body], options }) => {
  const client = await session.client();
  const fields = await fieldsOf(session, client, body, options);
  if (fields['name'] === undefined) throw nameless(session);
  if (options.dryRun) return previewFields(session, client, fields);
  const schedule = await client.schedules.put(fields as unknown as NewSchedule);
  const did = { create: 'created', change: 'changed', unchanged: 'unchanged' }[schedule.action];
  session.out.result({
    value: schedule,
    lines: () => [scheduleLine(schedule, did, session.now())],
    ids: () => [schedule.id],
  });
};

function nameless({ words }: Session): Error {
  return usage(`The ${words.schedule} has no name.`, `Write --name, or a ${words.schedule} as JSON.`);
}

async function previewFields(
  session: Session,
  client: SpineClient,
  fields: Record<string, unknown>,
): Promise<void> {
  if (fields['name'] === undefined) throw nameless(session);
  showPreview(session, await client.schedules.previewNew(fields));
  session.out.info('Nothing was made (dry run).');
}

export const updateSchedule: Handler<FieldOptions> = async (
  session,
  { args: [name = '', body], options },
) => {
  const client = await session.client();
  const fields = await fieldsOf(session, client, body, options);
  if (Object.keys(fields).length === 0)
    throw usage('There is nothing to change.', 'Write what to change, for example --cron "0 8 * * *".');
  const found = await findSchedule(client, name, session.words);
  if (options.dryRun) return previewUpdate(session, client, found, fields);
  const schedule = await client.schedules.update(found.id, fields);
  session.out.result({
    value: schedule,
    lines: () => [scheduleLine(schedule, 'changed', session.now())],
    ids: () => [schedule.id],
  });
};

/** Options win over the JSON that they stand beside. */
async function fieldsOf(
  session: Session,
  client: SpineClient,
  body: string | undefined,
  options: FieldOptions,
): Promise<Record<string, unknown>> {
  const { parent } = options;
  return {
    ...(await bodyOf(session, body, options.file)),
    ...plainFields(session, options),
    ...given({
      params: await json(session, options.params, '--params'),
      parent_id: parent === undefined ? undefined : await scheduleId(client, parent, session.words),
    }),
    ...Object.fromEntries((options.set ?? []).map(assignment)),
  };
}

function plainFields(session: Session, options: FieldOptions): Record<string, unknown> {
  return given({
    name: options.name,
    description: options.description,
    schedule_cron: options.cron,
    schedule_every_ms: options.every,
    schedule_at: options.at === undefined ? undefined : momentOfZone(session, options.at, '--at'),
    in: options.in === undefined ? undefined : `${options.in}ms`,
    schedule_kind: options.manual ? 'manual' : undefined,
    schedule_tz: options.tz,
    payload_message: options.message,
    command: options.command,
    agent_id: options.agent,
    session_target: options.sessionTarget,
    target: options.target,
    type: options.type,
    payload_model: options.model,
    trigger_on: options.triggerOn,
    trigger_delay_s: seconds(options.triggerDelay),
    trigger_condition: options.triggerCondition,
    overlap_policy: options.overlap,
    max_retries: options.retries,
    run_timeout_ms: options.timeLimit,
    resource_pool: options.pool,
    delivery_guarantee: options.guarantee,
    catch_up: options.catchUp,
    ends_at: options.until === undefined ? undefined : momentOfZone(session, options.until, '--until'),
    max_runs: options.maxRuns,
    jitter_s: seconds(options.jitter),
    delete_after_run: options.once,
    approval_required: options.approval,
    approval_timeout_s: seconds(options.approvalTimeout),
    approval_auto: options.approvalAuto,
    enabled: options.disabled ? false : undefined,
  });
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.ceil(ms / 1_000);
}

async function bodyOf(
  session: Session,
  body: string | undefined,
  file: string | undefined,
): Promise<Record<string, unknown>> {
  if (body !== undefined && file !== undefined)
    throw usage(`Write the ${session.words.schedule} as JSON, or name a --file, not both.`);
  if (body === undefined && file === undefined) return {};
  const [text, name] =
    file === undefined
      ? body === '-'
        ? [await readStdin(session), 'Standard input']
        : [body ?? '', `The ${session.words.schedule}`]
      : [await fileText(session, file), file];
  const value = parsed(text, name);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw usage(`${name} must be a JSON object.`);
}

/** `max_retries=2`, `agent_id=ops`, `payload_model=null`: JSON where it reads as JSON. */
function assignment(text: string): [string, unknown] {
  const at = text.indexOf('=');
  if (at < 1) throw usage(`--set takes field=value, not ${JSON.stringify(text)}.`);
  const value = text.slice(at + 1);
  try {
    return [text.slice(0, at), JSON.parse(value)];
  } catch {
    return [text.slice(0, at), value];
  }
}
