import type { HttpAnswer } from './classify.ts';
import { at, type Access } from './access.ts';
import { callWithin } from './http.ts';
import { fields, items, parsed } from './json.ts';
import type { Readiness } from './types.ts';

/** /readyz says whether the gateway takes work; /health stays well while it drains. Gateways before /readyz have only /health. */
export async function readiness(access: Access): Promise<Readiness> {
  try {
    const answer = await ask(access, '/readyz');
    return verdict(answer.status === 404 ? await ask(access, '/health') : answer);
  } catch (error) {
    return { ready: false, why: error instanceof Error ? error.message : String(error) };
  }
}

function ask(access: Access, path: string): Promise<HttpAnswer> {
  return callWithin(access.limits.readinessMs, access.clock, {
    url: at(access, path),
    method: 'GET',
    headers: {},
  });
}

function verdict({ status, body }: HttpAnswer): Readiness {
  if (status === 200) return { ready: true, why: null };
  const failing = items(fields(parsed(body))['failing']).filter((reason) => typeof reason === 'string');
  return { ready: false, why: failing.length > 0 ? failing.join(', ') : `the gateway answered ${status}` };
}
