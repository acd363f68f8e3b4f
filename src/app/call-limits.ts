/** The settings that bound what one principal may do, as the server wants them. */

import { type Config, SETTINGS } from '../config.ts';
import type { CallLimitSettings } from '../http/call-limits.ts';
import type { Limit } from '../http/open-bodies.ts';

type LimitKey = {
  [K in keyof Config & keyof typeof SETTINGS]: Config[K] extends number ? K : never;
}[keyof Config & keyof typeof SETTINGS];

export function callLimitsOf(config: Config): CallLimitSettings {
  const limit = (key: LimitKey): Limit => ({ most: config[key], setting: SETTINGS[key].name });
  return {
    perSecond: {
      head: limit('headCallsPerSecond'),
      worker: limit('workerCallsPerSecond'),
      viewer: limit('viewerCallsPerSecond'),
      run: limit('runCallsPerSecond'),
    },
    openCalls: {
      head: limit('headOpenCalls'),
      worker: limit('workerOpenCalls'),
      viewer: limit('viewerOpenCalls'),
      run: limit('runOpenCalls'),
    },
    openStreams: limit('openStreams'),
    openBodyBytes: limit('openBodyBytes'),
    allOpenBodyBytes: limit('allOpenBodyBytes'),
  };
}
