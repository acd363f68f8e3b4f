import { strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { allowOrigins } from '../../src/http/origins.ts';
import { guard } from '../../src/http/security.ts';

const problemWith = guard(['Spine.lan', 'fd00::7'], allowOrigins([], []));
const refusal = (
  headers: Record<string, string>,
  method = 'POST',
  localAddress = '127.0.0.1',
): string | undefined =>
  problemWith({ method, headers: { host: '127.0.0.1:36725', ...headers }, localAddress })?.code;

suite('the guard', () => {
  test('answers to its own names, with any port, and to the address that was called', () => {
    for (const host of [
      '127.0.0.1:36725',
      'localhost',
      'LOCALHOST:1',
      '[::1]:80',
      'spine.lan',
      'spine.lan:36725',
      '[fd00::7]:1',
    ]) {
      strictEqual(refusal({ host }), undefined, host);
    }
    strictEqual(refusal({ host: '192.168.1.5:36725' }, 'GET', '192.168.1.5'), undefined);
    strictEqual(refusal({ host: '192.168.1.5:36725' }, 'GET', '::ffff:192.168.1.5'), undefined);
    strictEqual(refusal({ host: '[fe80::1]:36725' }, 'GET', 'fe80::1'), undefined);
  });

  test('does not answer for other hosts', () => {
    for (const host of [
      'evil.test',
      'evil.test:36725',
      '127.0.0.1.evil.test',
      'localhost.evil.test',
      '10.0.0.1',
      '',
      'spine.lan.',
      '127.0.0.1:80:80',
      'user@localhost',
    ]) {
      strictEqual(refusal({ host }), 'bad_host', host);
    }
  });

  test('refuses pages of other origins', () => {
    for (const origin of [
      'http://evil.test',
      'null',
      'http://127.0.0.1:3000',
      'http://127.0.0.1:36725.evil.test',
      'file://',
    ]) {
      strictEqual(refusal({ origin }), 'bad_origin', origin);
    }
    strictEqual(refusal({ 'sec-fetch-site': 'cross-site' }), 'bad_origin');
    strictEqual(refusal({ 'sec-fetch-site': 'same-site' }, 'GET'), 'bad_origin');
    strictEqual(
      refusal(
        { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
        'GET',
      ),
      'bad_origin',
    );
    strictEqual(
      refusal({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }),
      'bad_origin',
    );
  });

  test('lets programs, its own pages and links through', () => {
    strictEqual(refusal({}), undefined);
    strictEqual(refusal({ origin: 'http://127.0.0.1:36725', 'sec-fetch-site': 'same-origin' }), undefined);
    strictEqual(refusal({ 'sec-fetch-site': 'none' }, 'GET'), undefined);
    const link = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    strictEqual(refusal(link, 'GET'), undefined);
  });

  test('takes no compressed bodies', () => {
    for (const encoding of ['gzip', 'br', 'deflate', 'gzip, identity']) {
      strictEqual(refusal({ 'content-encoding': encoding }), 'unsupported_media_type', encoding);
    }
    strictEqual(refusal({ 'content-encoding': 'identity' }), undefined);
  });
});
