/** The client of programs: connections that are kept where Node is, and else fetch. */

import { CallGroups, type SpineClientOptions } from './call-groups.ts';
import { nodePlatform } from './platform-node.ts';
import type { AnyJobs } from './typed-jobs.ts';

/**
 * Speaks to a server. What its jobs carry may be said by type:
 * `SpineClient<{ resize: { spec: { file: string }; result: { url: string } } }>`.
 */
export class SpineClient<T = AnyJobs> extends CallGroups<T> {
  constructor(options: SpineClientOptions = {}) {
    super(options, nodePlatform);
  }
}
