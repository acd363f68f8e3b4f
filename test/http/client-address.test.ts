import { strictEqual } from 'node:assert';
import { test } from 'node:test';
import { clientAddresses } from '../../src/http/client-address.ts';

const PROXIES = ['127.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8'];

for (const [from, header, proxies, address] of [
  ['203.0.113.7', undefined, PROXIES, '203.0.113.7'],
  ['127.0.0.1', undefined, PROXIES, '127.0.0.1'],
  ['127.0.0.1', '203.0.113.7', PROXIES, '203.0.113.7'],
  ['::ffff:127.0.0.1', '203.0.113.7', PROXIES, '203.0.113.7'],
  ['::1', '2001:db8::5', PROXIES, '2001:db8::5'],
  ['127.0.0.1', '203.0.113.7, 10.1.2.3', PROXIES, '203.0.113.7'],
  // Whatever a caller wrote before the proxy added its address.
  ['127.0.0.1', '1.1.1.1, 203.0.113.7', PROXIES, '203.0.113.7'],
  ['127.0.0.1', '10.0.0.1, 10.0.0.2', PROXIES, '10.0.0.1'],
  ['127.0.0.1', '', PROXIES, '127.0.0.1'],
  // Nobody else is believed.
  ['203.0.113.7', '1.1.1.1', PROXIES, '203.0.113.7'],
  ['127.0.0.1', '1.1.1.1', [], '127.0.0.1'],
] as const)
  test(`a call over ${from} that names ${header ?? 'nobody'} comes from ${address}, with ${proxies.length} proxies trusted`, () => {
    const request = { headers: { 'x-forwarded-for': header }, socket: { remoteAddress: from } };
    strictEqual(clientAddresses(proxies)(request), address);
  });
