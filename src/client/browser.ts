/** `openclaw-spine/client` for browsers: the same without anything of Node's. */

import { CallGroups, type SpineClientOptions } from './call-groups.ts';
import { systemPlatform } from './platform.ts';
import type { AnyJobs } from './typed-jobs.ts';

/** As for programs, with fetch for all requests, the feed of events too: so that each brings its token. */
export class SpineClient<T = AnyJobs> extends CallGroups<T> {
  constructor(options: SpineClientOptions = {}) {
    super(options, systemPlatform);
  }
}

export * from './exports.ts';
