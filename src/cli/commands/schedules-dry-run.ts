/** What a change, a cancel or a delete would do, without doing it. */

import type { Schedule, ScheduleNode, SpineClient } from '../../client/index.ts';
import type { Session } from '../session.ts';
import { type Line, styled } from '../text/line.ts';
import { scheduleLine } from './schedule-lines.ts';

/** What the server says of itself, and says otherwise at any moment. */
const NOT_ASKED: ReadonlySet<string> = new Set(['rule', 'next_run_at', 'updated_at', 'queued_count']);

/** The server does it and takes it back, so that what is refused then is refused now. */
export async function previewUpdate(
  session: Session,
  client: SpineClient,
  before: Schedule,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  const after = await client.schedules.rehearse(before.id, fields);
  const changes = (Object.keys(after) as (keyof Schedule)[])
    .map((field) => ({ field, from: before[field], to: after[field] }))
    .filter(({ field }) => !NOT_ASKED.has(field) || field in fields)
    .filter(({ from, to }) => JSON.stringify(from) !== JSON.stringify(to));
  session.out.result({
    value: { dry_run: true, id: before.id, changes, schedule: after },
    lines: (): Line[] => [
      scheduleLine(after, 'would be', session.now()),
      ...changes.map(({ field, from, to }) => `  ${field}: ${JSON.stringify(from)} → ${JSON.stringify(to)}`),
    ],
    ids: () => [before.id],
  });
  session.out.info('Nothing was changed (dry run).');
}

/** Which schedules would go, or be switched off, with this one. */
export async function previewEnd(
  session: Session,
  client: SpineClient,
  schedule: Schedule,
  verb: 'deleted' | 'cancelled',
  cascade: boolean,
): Promise<void> {
  const all = familyOf(await client.schedules.tree(), schedule.id);
  const family = cascade ? all : all.slice(0, 1);
  session.out.result({
    value: { dry_run: true, id: schedule.id, schedules: family.map(({ id }) => id) },
    lines: () =>
      family.map(
        ({ name, id }): Line => [styled('bold', name), ` would be ${verb} `, styled('dim', `(${id})`)],
      ),
    ids: () => family.map(({ id }) => id),
  });
  session.out.info('Nothing was changed (dry run).');
}

/** It, and everything below it. */
function familyOf(nodes: readonly ScheduleNode[], id: string): ScheduleNode[] {
  return nodes.flatMap((node) => (node.id === id ? flattened(node) : familyOf(node.children, id)));
}

function flattened(node: ScheduleNode): ScheduleNode[] {
  return [node, ...node.children.flatMap(flattened)];
}
