/** What anyone may ask: is it up, and how is it used. */

import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { SpineError } from '../../domain/error.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Authenticate, Credential } from '../auth.ts';
import { admit } from '../routes.ts';
import { iso } from '../times.ts';

export interface PublicDoor {
  readonly engine: Engine;
  readonly authenticate: Authenticate;
  readonly credentials: readonly Credential[];
  readonly version: string;
  readonly skillMdPath: string;
  readonly health: () => object | Promise<object>;
}

export const PUBLIC_PATHS = [
  { method: 'GET', path: '/health' },
  { method: 'GET', path: '/healthz' },
  { method: 'GET', path: '/health/details' },
  { method: 'GET', path: '/skill.md' },
] as const;

const PACKAGED_SKILL = new URL('../../../SKILL.md', import.meta.url);

export function publicDoor(app: FastifyInstance, door: PublicDoor): void {
  const { engine, version, authenticate, credentials } = door;
  const health = () => Promise.resolve({ ok: true, status: 'healthy', time: iso(engine.now()), version });
  app.get('/health', health);
  app.get('/healthz', health);
  app.get('/health/details', { onRequest: admit(['head', 'worker', 'viewer'], authenticate) }, async () => ({
    ...(await health()),
    ...(await door.health()),
  }));
  app.get('/skill.md', async (_request, reply) => {
    const text = (await readIfThere(door.skillMdPath)) ?? (await readIfThere(PACKAGED_SKILL));
    if (text === null) throw new SpineError('not_found');
    return reply
      .header('content-type', 'text/markdown; charset=utf-8')
      .send(withoutTokens(text, credentials));
  });
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
function withoutTokens(text: string, credentials: readonly Credential[]): string {
  return credentials.reduce((page, { token }) => page.replaceAll(token, '$SPINE_TOKEN'), text);
}
