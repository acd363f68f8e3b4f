/** A schedule as people name it: id, the beginning of an id, or its name. */

import { SpineApiError, type Schedule, type SpineClient } from '../../client/index.ts';
import { CliError, EXIT, usage } from '../failure.ts';
import { clean } from '../text/clean.ts';
import type { Vocabulary } from '../text/vocabulary.ts';

const PAGE = 1_000;
const SHOWN = 5;
/** Ids begin with their time: so much of them tells two apart that were not made together. */
const SHORTEST = 13;

export async function findSchedule(client: SpineClient, text: string, words: Vocabulary): Promise<Schedule> {
  return (await byId(client, text)) ?? (await byName(client, text, words));
}

export async function scheduleId(client: SpineClient, text: string, words: Vocabulary): Promise<string> {
  return (await findSchedule(client, text, words)).id;
}

async function byId(client: SpineClient, text: string): Promise<Schedule | null> {
  if (!/^[0-9a-f-]{4,36}$/i.test(text)) return null;
  try {
    return await client.schedules.get(text.toLowerCase());
  } catch (error) {
    if (error instanceof SpineApiError && error.status === 404) return null;
    if (error instanceof SpineApiError && error.status === 409) throw usage(error.message);
    throw error;
  }
}

async function byName(client: SpineClient, text: string, words: Vocabulary): Promise<Schedule> {
  const wanted = text.toLowerCase();
  const alike: Schedule[] = [];
  const found: Schedule[] = [];
  for await (const schedule of client.schedules.list({ limit: PAGE })) {
    const name = schedule.name.toLowerCase();
    if (name === wanted) found.push(schedule);
    else if (name.includes(wanted) || wanted.includes(name)) alike.push(schedule);
  }
  const [only, ...others] = found;
  if (only === undefined) throw unknown(text, alike, words);
  if (others.length > 0) throw ambiguous(text, found, words);
  return only;
}

function unknown(text: string, alike: readonly Schedule[], words: Vocabulary): CliError {
  const names = alike.slice(0, SHOWN).map(({ name }) => name);
  const hint =
    names.length === 0
      ? `See: ${words.program} ${words.schedule}s list`
      : `Did you mean ${names.join(', ')}?`;
  return new CliError(
    EXIT.notFound,
    'not_found',
    `There is no ${words.schedule} ${JSON.stringify(clean(text))}.`,
    hint,
  );
}

function ambiguous(text: string, found: readonly Schedule[], words: Vocabulary): CliError {
  const ids = found.slice(0, SHOWN).map(({ id }) => id);
  const more = found.length > SHOWN ? ` and ${found.length - SHOWN} more` : '';
  return usage(`Several ${words.schedule}s are called ${text}: ${ids.join(', ')}${more}.`, 'Write an id.');
}

/** The shortest beginnings that tell these ids apart. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  let length = SHORTEST;
  const apart = () => new Set(ids.map((id) => id.slice(0, length))).size === new Set(ids).size;
  while (length < 36 && !apart()) length++;
  return (id) => id.slice(0, length);
}
