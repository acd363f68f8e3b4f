/** What anyone may ask: is it up, how is it used, what can it do. */

import { readFile } from 'node:fs/promises';
import { SpineError } from '../../../domain/error.ts';
import type { Engine } from '../../../engine/engine.ts';
import { Description, Health, HealthDetails, Page, Ready } from './answers.ts';
import type { Credential } from '../../auth.ts';
import type { Parts } from '../../parts.ts';
import { fields, optional } from '../../fields.ts';
import { route, type Route } from '../../routes.ts';
import { iso } from '../../iso.ts';
import { Name } from './schemas.ts';

const PACKAGED_SKILL = new URL('../../../../SKILL.md', import.meta.url);
const DescriptionQuery = fields({
  tag: optional({ ...Name, description: 'which calls, by one of the `tags`; all unless said' }),
});
/** Of stored tokens only the hash is known. */
const LIKE_A_TOKEN = /[\w-]{24,512}/g;
const HIDDEN = '$SPINE_TOKEN';
const MARKDOWN_TYPE = 'text/markdown; charset=utf-8';

export const publicRoutes: readonly Route[] = [
  up('/health', 'getHealth'),
  up('/healthz', 'getHealthz'),
  route({
    method: 'GET',
    path: '/ready',
    name: 'getReady',
    about: 'Whether the server can take work now; if not, `reason` says why.',
    who: 'anyone',
    answer: Ready,
    errors: ['unready'],
    handle: async ({ parts }) => {
      const unready = parts.unready();
      if (unready !== null) throw new SpineError('unready', { ...unready });
      return { ok: true, status: 'ready', version: parts.version };
    },
  }),
  route({
    method: 'GET',
    path: '/health/details',
    name: 'getHealthDetails',
    about: 'How the parts of the server are: store, loops, files.',
    who: ['head', 'worker', 'viewer'],
    answer: HealthDetails,
    handle: async ({ parts }) => ({ ...health(parts), ...(await parts.health()) }),
  }),
  route({
    method: 'GET',
    path: '/skill.md',
    name: 'getSkill',
    about: 'This API on one page, for agents.',
    who: 'anyone',
    answer: Page,
    media: MARKDOWN_TYPE,
    errors: ['not_found'],
    handle: async ({ engine, parts }) => {
      const text = (await readIfThere(parts.skillMdPath)) ?? (await readIfThere(PACKAGED_SKILL));
      if (text === null) throw new SpineError('not_found');
      return withoutTokens(text, parts.credentials, engine);
    },
  }),
  route({
    method: 'GET',
    path: '/openapi.json',
    name: 'getDescription',
    about: 'This API in OpenAPI 3.1, for programs; with tag, the calls that belong together.',
    who: 'anyone',
    query: DescriptionQuery,
    answer: Description,
    handle: async ({ parts, query }) => parts.description(query.tag),
  }),
];

function up(path: string, name: string): Route {
  return route({
    method: 'GET',
    path,
    name,
    about: 'Whether the server is up.',
    who: 'anyone',
    answer: Health,
    handle: async ({ parts }) => health(parts),
  });
}

function health({ engine, version }: Parts): object {
  return { ok: true, status: 'healthy', time: iso(engine.now()), version };
}

async function readIfThere(path: string | URL): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/** People paste their token into such a page, and everybody may read it. */
async function withoutTokens(
  text: string,
  credentials: readonly Credential[],
  { tokens }: Engine,
): Promise<string> {
  const page = credentials
    .reduce((page, { token }) => page.replaceAll(token, HIDDEN), text)
    // Those that the server made for somebody can be told by their looks, also when they count no more.
    .replace(/\b(spn_|run\.)[\w.-]{20,}/g, HIDDEN);
  const words = [...new Set(page.match(LIKE_A_TOKEN))];
  const hidden = await Promise.all(words.map(async (word) => (await tokens.actorBehind(word)) !== null));
  return words.filter((_, i) => hidden[i]).reduce((page, word) => page.replaceAll(word, HIDDEN), page);
}
