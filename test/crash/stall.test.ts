import { waitingProofTest } from '../../proof/as-test.ts';
import { proveStall } from '../../proof/stall.ts';

// Beside other tests a heartbeat may come seconds late: the proof has shorter leases.
waitingProofTest('keeps the leases of holders while the server is away [SP-27]', (store) =>
  proveStall(store, { silentLeaseMs: 9_000, beatingLeaseMs: 7_500, awayMs: 10_000 }),
);
