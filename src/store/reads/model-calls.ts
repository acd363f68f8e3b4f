/** Calls of models that Spine itself has made. */

import type { AdviceTaken } from '../../domain/model-call.ts';
import type { Sql } from '../sql/driver.ts';
import { first } from '../sql/rows.ts';

/** From the one moment on, before the other. Served by the index over the time. */
export async function between(sql: Sql, from: number, before: number): Promise<AdviceTaken> {
  const text = `select count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) from model_call
    where at >= $1 and at < $2`;
  const [calls = 0, inputTokens = 0, outputTokens = 0] = ((await first(sql, text, [from, before])) ?? []).map(
    Number,
  );
  return { calls, inputTokens, outputTokens };
}
