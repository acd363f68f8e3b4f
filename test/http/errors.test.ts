import { deepStrictEqual, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { ERRORS, type ErrorCode, SpineError } from '../../src/domain/error.ts';
import { errorAnswer } from '../../src/http/door.ts';
import { spine } from '../../src/http/doors/spine/door.ts';
import { asSpineError } from '../../src/http/errors.ts';

suite('a refusal as an answer', () => {
  test('has the status of its code, and says what, whether to retry and what to do', () => {
    for (const code of Object.keys(ERRORS) as ErrorCode[]) {
      const { status, body } = errorAnswer(spine, new SpineError(code), 'r1');
      strictEqual(status, ERRORS[code].status);
      const { error, message, retryable, hint } = body;
      deepStrictEqual(
        { error, message, retryable, hint },
        {
          error: code,
          message: ERRORS[code].message,
          retryable: ERRORS[code].retryable,
          hint: ERRORS[code].hint,
        },
      );
    }
  });

  test('keeps the facts of v0, with times as ISO', () => {
    const { body } = errorAnswer(
      spine,
      new SpineError('already_claimed', { claimedBy: 'left-claw', leaseUntil: 0, attempts: 3 }),
      'r1',
    );
    deepStrictEqual(
      [body['claimedBy'], body['leaseUntil'], body['attempts']],
      ['left-claw', '1970-01-01T00:00:00.000Z', 3],
    );
  });

  test('says when to come back, and how to authenticate', () => {
    deepStrictEqual(errorAnswer(spine, new SpineError('overloaded'), '').headers, { 'retry-after': '1' });
    deepStrictEqual(errorAnswer(spine, new SpineError('queue_full', { retryAfterS: 5 }), '').headers, {
      'retry-after': '5',
    });
    deepStrictEqual(errorAnswer(spine, new SpineError('unauthorized'), '').headers, {
      'www-authenticate': 'Bearer',
    });
  });

  test('hides everything about what broke inside but the request id', () => {
    const inside = asSpineError(new Error('password=hunter2 at postgres://u:p@db'));
    const { status, body } = errorAnswer(spine, inside, 'r7');
    strictEqual(status, 500);
    deepStrictEqual(body, {
      error: 'internal',
      message: ERRORS.internal.message,
      retryable: true,
      hint: ERRORS.internal.hint,
      requestId: 'r7',
    });
  });

  test("speaks of the framework's own refusals in the same words", () => {
    const thrown = (code: string, statusCode: number) =>
      asSpineError(Object.assign(new Error('x'), { code, statusCode })).code;
    strictEqual(thrown('FST_ERR_CTP_BODY_TOO_LARGE', 413), 'too_large');
    strictEqual(thrown('FST_ERR_CTP_INVALID_MEDIA_TYPE', 415), 'unsupported_media_type');
    strictEqual(thrown('FST_MP_PREMATURE_CLOSE', 400), 'bad_request');
    strictEqual(thrown('ERR_ANYTHING', 500), 'internal');
  });
});
