/** The key by which a repeated call is known, whatever it makes. */

import { SpineError } from '../domain/error.ts';
import type { IdempotencyKey } from '../engine/engine.ts';
import type { Call } from './routes.ts';
import { Type } from './typebox.ts';

export const idempotencyHeader = {
  'Idempotency-Key': Type.Optional(Type.String({ pattern: '^[\\x21-\\x7e]{1,200}$' })),
};

/** Of the answer to a call that was done before. */
export const REPLAYED = 'idempotency-replayed';

/** Keys of one caller never meet those of another: the engine keeps them by actor. */
export function idempotencyOf({ request }: Call): IdempotencyKey | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && /^[\x21-\x7e]{1,200}$/.test(key)) return { key, bodyHash: request.bodyHash };
  const message = 'The Idempotency-Key header must be 1 to 200 printable ASCII characters without spaces.';
  throw new SpineError('bad_request', { field: 'Idempotency-Key' }, { message });
}
