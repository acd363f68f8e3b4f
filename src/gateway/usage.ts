import type { Usage } from './types.ts';

/** Null when the gateway counted nothing. */
export function usage(
  inputTokens: number | null,
  outputTokens: number | null,
  totalTokens: number | null,
): Usage | null {
  if (inputTokens === null && outputTokens === null && totalTokens === null) return null;
  return { inputTokens, outputTokens, totalTokens };
}
