import { proofTest } from '../../proof/as-test.ts';
import { proveStall } from '../../proof/stall.ts';

// Beside other tests a heartbeat may come a second late: the proof has shorter leases.
proofTest('keeps the leases of holders while the server is away [SP-27]', (store) =>
  proveStall(store, { silentLeaseMs: 3_500, beatingLeaseMs: 2_500 }),
);
