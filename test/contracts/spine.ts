import { suite } from 'node:test';
import type { ServerOptions, TestServer } from '../support/server.ts';
import { accessCases } from './spine-access.ts';
import { blobCases } from './spine-blobs.ts';
import { jobCases } from './spine-jobs.ts';
import { lifecycleCases } from './spine-lifecycle.ts';
import { nativeCases } from './spine-native.ts';
import { reaperCases } from './spine-reaper.ts';

export interface ContractStore {
  readonly name: string;
  /** Why the whole suite cannot run here. */
  readonly skip?: string | false;
  readonly start: (options?: ServerOptions) => Promise<TestServer>;
}

/** What Spine v0 promises and what came since, held against a real listening server. */
export function spineContract({ name, skip = false, start }: ContractStore): void {
  suite(`the Spine contract over ${name}`, { skip }, () => {
    accessCases(start);
    jobCases(start);
    lifecycleCases(start);
    reaperCases(start);
    blobCases(start);
    nativeCases(start);
  });
}
