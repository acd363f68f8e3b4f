import type { Random } from '../random.ts';
import type { FuzzRequest } from './requests.ts';

/** What no HTTP client would send: broken framing, smuggling attempts and plain noise. */
export function socketRequests(random: Random): FuzzRequest[] {
  const auth = 'Authorization: Bearer {head}\r\nHost: {host}\r\n';
  const json = 'Content-Type: application/json\r\n';
  const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random.int(256)));
  return [
    bytes('noise', noise(1 + random.int(2_000))),
    bytes('noise after a good line', Buffer.concat([Buffer.from('GET /health HTTP/1.1\r\n'), noise(200)])),
    bytes('nothing', ''),
    bytes('a tls hello', Buffer.from('16030100c8010000c40303', 'hex')),
    bytes('http/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    bytes('http/0.9', 'GET /health\r\n\r\n'),
    bytes('http/9.9', `GET /health HTTP/9.9\r\n${auth}\r\n`),
    bytes('no host', 'GET /jobs HTTP/1.1\r\n\r\n'),
    bytes('two hosts', `GET /jobs HTTP/1.1\r\n${auth}Host: evil.test\r\n\r\n`),
    bytes('bare line feeds', `GET /jobs HTTP/1.1\n${auth.replaceAll('\r', '')}\n`),
    bytes('folded header', `GET /jobs HTTP/1.1\r\n${auth}X: a\r\n b\r\n\r\n`),
    bytes('space before the colon', `GET /jobs HTTP/1.1\r\n${auth}X : a\r\n\r\n`),
    bytes('nul in a header', `GET /jobs HTTP/1.1\r\n${auth}X: a\u0000b\r\n\r\n`),
    bytes(
      'two lengths',
      `POST /jobs HTTP/1.1\r\n${auth}${json}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `,
    ),
    bytes('a negative length', `POST /jobs HTTP/1.1\r\n${auth}${json}Content-Length: -2\r\n\r\n{}`),
    bytes(
      'an endless length',
      `POST /jobs HTTP/1.1\r\n${auth}${json}Content-Length: 99999999999999999999\r\n\r\n{}`,
    ),
    bytes(
      'length and chunks',
      `POST /jobs HTTP/1.1\r\n${auth}${json}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ),
    bytes(
      'an odd transfer encoding',
      `POST /jobs HTTP/1.1\r\n${auth}${json}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    ),
    bytes(
      'a broken chunk',
      `POST /jobs HTTP/1.1\r\n${auth}${json}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    ),
    bytes('a huge chunk', chunked(auth + json, 2_000_000)),
    bytes('a short body', `POST /jobs HTTP/1.1\r\n${auth}${json}Content-Length: 500\r\n\r\n{"spec"`),
    bytes('a long path', `GET /${'a'.repeat(70_000)} HTTP/1.1\r\n${auth}\r\n`),
    bytes('a long header', `GET /jobs HTTP/1.1\r\n${auth}X: ${'a'.repeat(70_000)}\r\n\r\n`),
    bytes('many headers', `GET /jobs HTTP/1.1\r\n${auth}${'X: y\r\n'.repeat(3_000)}\r\n`),
    bytes('trace', `TRACE /jobs HTTP/1.1\r\n${auth}\r\n`),
    bytes('connect', `CONNECT evil.test:80 HTTP/1.1\r\n${auth}\r\n`),
    bytes('an unknown method', `FROBNICATE /jobs HTTP/1.1\r\n${auth}\r\n`),
    bytes('an absolute target', `GET http://evil.test/jobs HTTP/1.1\r\n${auth}\r\n`),
    bytes('a target without a slash', `GET jobs HTTP/1.1\r\n${auth}\r\n`),
    bytes('an asterisk', `OPTIONS * HTTP/1.1\r\n${auth}\r\n`),
    bytes('a websocket', `GET /events HTTP/1.1\r\n${auth}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`),
    bytes(
      'an odd expectation',
      `POST /jobs HTTP/1.1\r\n${auth}${json}Expect: 999-maybe\r\nContent-Length: 2\r\n\r\n{}`,
    ),
    bytes('pipelined', `GET /health HTTP/1.1\r\n${auth}\r\n`.repeat(50)),
    bytes(
      'a smuggled second',
      `POST /jobs HTTP/1.1\r\n${auth}${json}Content-Length: 2\r\n\r\n{}GET /config HTTP/1.1\r\n\r\n`,
    ),
  ];
}

function chunked(headers: string, size: number): string {
  return `POST /jobs HTTP/1.1\r\n${headers}Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;
}

function bytes(about: string, content: string | Buffer): FuzzRequest {
  return {
    about: `bytes: ${about}`,
    method: 'bytes',
    path: '',
    role: 'nobody',
    headers: {},
    bytes: Buffer.from(content),
    mayHangUp: true,
  };
}
