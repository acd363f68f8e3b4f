/** A job as people name it: number, id, or the beginning of an id. */

import { SpineApiError, type SpineClient } from '../../client/index.ts';
import { CliError, EXIT, usage } from '../failure.ts';
import { clean } from '../text/clean.ts';

/** As long as an id of the server's own making. */
const ID_CHARS = 36;
const SHORTEST_PREFIX = 4;
/** Ids begin with their time, so the newest jobs are the ones people have at hand. */
const PAGES = 5;
const PAGE = 1_000;
const SHOWN = 5;

/** What to put into a path. Only a beginning costs another call. */
export async function jobRef(client: SpineClient, text: string): Promise<string> {
  const ref = text.startsWith('#') ? text.slice(1) : text;
  if (/^\d{1,15}$/.test(ref)) return ref;
  if (text.startsWith('#') || !/^[\w.:~-]{1,100}$/.test(ref))
    throw usage(`${JSON.stringify(clean(text))} is no job: write its number or id.`);
  if (ref.length >= ID_CHARS || ref.length < SHORTEST_PREFIX) return ref;
  return (await exact(client, ref)) ?? (await byPrefix(client, ref));
}

export async function jobRefs(client: SpineClient, texts: readonly string[]): Promise<string[]> {
  const refs: string[] = [];
  for (const text of texts) refs.push(await jobRef(client, text));
  return refs;
}

/** Jobs that came from elsewhere may have short ids. */
async function exact(client: SpineClient, ref: string): Promise<string | null> {
  try {
    return (await client.jobs.get(ref)).id;
  } catch (error) {
    if (error instanceof SpineApiError && error.status === 404) return null;
    throw error;
  }
}

async function byPrefix(client: SpineClient, prefix: string): Promise<string> {
  const found: { id: string; no: number }[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const { jobs, nextCursor } = await client.jobs.listPage({ order: 'newest', limit: PAGE }, cursor);
    found.push(...jobs.filter(({ id }) => id.startsWith(prefix.toLowerCase())));
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  const [only, ...others] = found;
  if (only === undefined)
    throw new CliError(EXIT.notFound, 'not_found', `No job has an id that begins with ${prefix}.`, null);
  if (others.length > 0) throw ambiguous(prefix, found);
  return only.id;
}

function ambiguous(prefix: string, found: readonly { id: string; no: number }[]): CliError {
  const names = found.slice(0, SHOWN).map(({ id, no }) => `#${no} ${id}`);
  const more = found.length > SHOWN ? ` and ${found.length - SHOWN} more` : '';
  return usage(`${prefix} begins the ids of several jobs: ${names.join(', ')}${more}.`, 'Write more of it.');
}
