import { onEvery, type EngineKind } from '../support/engines.ts';
import { bulkTopics } from './bulk.ts';
import { claimSizeTopics } from './claim-size.ts';
import { dependencyTopics } from './dependencies.ts';
import { eventTopics } from './events.ts';
import { historyTopics } from './history.ts';
import { inputTopics } from './inputs.ts';
import { jobTopics } from './jobs.ts';
import { keyTopics } from './keys.ts';
import { leaseTopics } from './leases.ts';
import { listTopics } from './lists.ts';
import { requirementTopics } from './requirements.ts';
import { migrationTopics } from './migrations.ts';
import { poolTopics } from './pools.ts';
import { pruneTopics } from './prune.ts';
import { questionTopics } from './questions.ts';
import { searchTopics } from './search.ts';
import { steeringTopics } from './steering.ts';
import { transactionTopics } from './transactions.ts';
import { upkeepTopics } from './upkeep.ts';
import { writeTopics } from './writes.ts';

/** What every store must do. A bug found in one store becomes a test here before it is fixed. */
export function storeConformance(kind: EngineKind): void {
  onEvery([kind], (each) => {
    jobTopics(each);
    writeTopics(each);
    keyTopics(each);
    leaseTopics(each);
    claimSizeTopics(each);
    eventTopics(each);
    historyTopics(each);
    transactionTopics(each);
    poolTopics(each);
    dependencyTopics(each);
    inputTopics(each);
    listTopics(each);
    requirementTopics(each);
    searchTopics(each);
    questionTopics(each);
    steeringTopics(each);
    bulkTopics(each);
    pruneTopics(each);
    upkeepTopics(each);
    migrationTopics(each);
  });
}
