/** The model that the settings name, which is asked about failures. */

import { anthropic, type Model } from '../channels/anthropic.ts';
import type { Config } from '../config.ts';
import type { AdviceSettings } from '../engine/core.ts';

export function modelOf(config: Config): Model | null {
  const { anthropicKey: key, anthropicUrl: url, adviceModel: model, adviceTimeoutMs: timeoutMs } = config;
  return key === null ? null : anthropic({ url, key, model, timeoutMs });
}

/** Whoever waits for an answer waits a little longer than the call may take. */
export function adviceOf(config: Config): AdviceSettings | null {
  if (config.anthropicKey === null) return null;
  const { adviceTimeoutMs, adviceReuseMs: reuseMs, advicePerHour: perHour } = config;
  return { waitMs: adviceTimeoutMs + 1_000, reuseMs, perHour };
}
