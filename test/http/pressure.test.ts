import { deepStrictEqual, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { type ErrorCode, ERRORS, SpineError } from '../../src/domain/error.ts';
import { openServer } from './server.ts';

/** What an engine says that cannot take more, and when to come back. */
const BUSY: readonly (readonly [ErrorCode, number | undefined, string])[] = [
  ['queue_full', 5, '5'],
  ['overloaded', undefined, '1'],
  ['shutting_down', undefined, '1'],
  ['store_unavailable', undefined, '1'],
  ['disk_full', undefined, '1'],
];

suite('a server that cannot take more', () => {
  test('says so, and when to come back', async (t) => {
    let busy: SpineError = new SpineError('overloaded');
    const refuse = () => Promise.reject(busy);
    const spine = await openServer(t, ({ engine }) => ({
      engine: {
        ...engine,
        jobs: { ...engine.jobs, create: refuse },
        leases: { ...engine.leases, claimNext: refuse, completeMany: refuse, endThenClaim: refuse },
      },
    }));
    for (const [code, retryAfterS, header] of BUSY) {
      busy = new SpineError(code, retryAfterS === undefined ? {} : { retryAfterS });
      const answers = await Promise.all([
        ...(code === 'queue_full' ? [] : [spine.left.post('/jobs/claim', {})]),
        ...(code === 'queue_full' ? [] : [spine.left.post('/jobs/complete-batch', { jobs: [{ id: 'x' }] })]),
        ...(code === 'queue_full' ? [] : [spine.left.post('/jobs/x/complete', { next: {} })]),
        spine.head.post('/jobs', {}),
      ]);
      for (const { status, body, headers } of answers) {
        deepStrictEqual([status, body['error'], body['retryable']], [ERRORS[code].status, code, true]);
        strictEqual(headers['retry-after'], header);
      }
    }
  });
});
