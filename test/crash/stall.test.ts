import { proofTest } from '../../proof/as-test.ts';
import { proveStall } from '../../proof/stall.ts';

proofTest('keeps the leases of holders while the server is away [SP-27]', proveStall);
