import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isInner } from '../../src/domain/inner-address.ts';
import { webhookUrlProblem } from '../../src/domain/webhook-url.ts';

const INNER = [
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '100.100.100.200',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '0:0:0:0:0:ffff:a9fe:a9fe',
  '64:ff9b::7f00:1',
  '64:ff9b::127.0.0.1',
  '64:ff9b:1::7f00:1',
  '2002:7f00:1::',
  '2002:a9fe:a9fe::1',
  '2001:0:7f00:1::',
  '2001:db8::1',
  '3fff::1',
  'fe80::1%eth0',
  'fec0::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '100::1',
  '1::2::3',
  'nothing',
];
const OUTER = [
  '8.8.8.8',
  '100.63.255.255',
  '172.32.0.1',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
  '2001:4860:4860::8888',
  '2606:4700::1111',
];

test('every spelling of an inner address counts as inside, and what is public does not', () => {
  for (const address of INNER) assert.equal(isInner(address), true, address);
  for (const address of OUTER) assert.equal(isInner(address), false, address);
});

test('a webhook may not lead inside, however its address is written', () => {
  const hosts = [
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '0x7f.1',
    '0x7f000001',
    '0177.0.0.1',
    '2130706433',
    '[::ffff:7f00:1]',
    '[::1]',
    '[::]',
    '169.254.169.254',
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    '0',
  ];
  for (const host of hosts) {
    assert.match(webhookUrlProblem(`http://${host}/x`, []) ?? 'allowed', /inner address/, host);
    assert.match(webhookUrlProblem(`https://${host}:8443/x`, []) ?? 'allowed', /inner address/, host);
  }
  for (const url of ['https://example.com/hook', 'http://8.8.8.8/', 'https://[2606:4700::1111]/'])
    assert.equal(webhookUrlProblem(url, []), null, url);
});

test('hosts that the operator names may be called all the same, and no others', () => {
  const allowed = ['10.0.0.5', 'hooks.lan', '::1', '127.0.0.1'];
  for (const url of [
    'http://10.0.0.5:8080/',
    'http://hooks.lan/x',
    'http://[::1]/',
    'http://0x7f.1/',
    'http://HOOKS.lan./',
  ])
    assert.equal(webhookUrlProblem(url, allowed), null, url);
  for (const url of ['http://10.0.0.6/', 'http://localhost/', 'http://[::ffff:7f00:1]/'])
    assert.notEqual(webhookUrlProblem(url, allowed), null, url);
});

test('a webhook is an http URL without a password in it', () => {
  for (const url of ['ftp://example.com', 'file:///etc/passwd', 'example.com', 'javascript:alert(1)', ''])
    assert.match(webhookUrlProblem(url, []) ?? '', /not an http/, url);
  assert.match(webhookUrlProblem('https://me:secret@example.com/', []) ?? '', /password/);
  assert.match(webhookUrlProblem(`https://example.com/${'x'.repeat(3_000)}`, []) ?? '', /longer/);
});
