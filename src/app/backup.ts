/** The commands of `spine backup`, for whoever prints them. */

import type { BackupAnswer, BackupRequest } from '../cli/host.ts';
import type { Config } from '../config.ts';
import type { Outcome } from './backup-thread.ts';
import { dataOf, once } from './backups.ts';

export async function backup(
  config: Config,
  request: BackupRequest,
  { version, now }: { readonly version: string; readonly now: number },
): Promise<BackupAnswer> {
  const data = () => dataOf(config, request.to, version);
  const { dataDir } = config;
  const onPostgres = config.databaseUrl !== null;
  switch (request.verb) {
    case 'snapshot':
    case 'rollup': {
      const { verb } = request;
      const outcome = await once(data, (thread) => thread.call('make', verb, now));
      const buckets = { artifacts: config.blobBucket, taskData: config.objectBucket };
      return answerOf(outcome, (made) => ({ verb, made, onPostgres, buckets }));
    }
    case 'restore': {
      const { force, name } = request;
      const outcome = await once(data, (thread) => thread.call('restore', { force, name }));
      return answerOf(outcome, (restored) => ({ verb: 'restore', restored, dataDir, onPostgres }));
    }
    case 'list':
      return answerOf(await once(data, (thread) => thread.call('list')), (entries) => ({
        verb: 'list',
        entries,
      }));
    case 'status': {
      const { backupEnabled: enabled, backupMs: everyMs } = config;
      const outcome = await once(data, (thread) => thread.call('status'));
      return answerOf(outcome, (status) => ({ verb: 'status', status: { enabled, everyMs, ...status } }));
    }
  }
}

function answerOf<T>(
  outcome: Outcome<T>,
  show: (value: T) => Extract<BackupAnswer, { verb: string }>,
): BackupAnswer {
  return outcome.ok ? show(outcome.value) : { problem: outcome.problem };
}
