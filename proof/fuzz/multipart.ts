import type { Random } from '../random.ts';
import type { FuzzRequest } from './requests.ts';

const BOUNDARY = 'XfuzzX';
const MANY_PARTS = 2_000;

const FILENAMES = [
  '../../x',
  '..\\..\\x',
  '..%2f..%2fx',
  '/etc/passwd',
  'CON',
  '',
  '.',
  '..',
  'a\u0000b',
  'x'.repeat(4_096),
  '\u202etxt.exe',
  '"; filename="b',
  'a\r\nSet-Cookie: x=1',
  '😀',
  '__proto__',
];

/** Uploads as broken clients and attackers send them. */
export function multipartRequests(random: Random): FuzzRequest[] {
  const good = part('file', 'a.txt', 'hello');
  const end = `--${BOUNDARY}--\r\n`;
  return [
    ...FILENAMES.map((name) => upload(`filename ${name.slice(0, 30)}`, part('file', name, 'hello') + end)),
    ...['', '__proto__', 'constructor', 'File', 'x'.repeat(5_000)].map((name) =>
      upload(`field ${name.slice(0, 30)}`, part(name, 'a.txt', 'hello') + end),
    ),
    upload('no boundary', good + end, 'multipart/form-data', true),
    upload('empty boundary', good + end, 'multipart/form-data; boundary=', true),
    upload('huge boundary', good + end, `multipart/form-data; boundary=${'b'.repeat(5_000)}`),
    upload('another boundary', good + end, 'multipart/form-data; boundary=other'),
    upload('unterminated', good),
    upload('cut in a header', `--${BOUNDARY}\r\nContent-Disposition: form-da`),
    upload('cut after the boundary', `--${BOUNDARY}`),
    upload('empty', '', undefined, true),
    upload('only the end', end, undefined, true),
    upload('garbage', String.fromCharCode(...Array.from({ length: 200 }, () => random.int(256)))),
    upload('part without headers', `--${BOUNDARY}\r\n\r\nhello\r\n${end}`),
    upload('part without a name', `--${BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\nhello\r\n${end}`),
    upload('many parts', good.repeat(MANY_PARTS) + end),
    upload('many fields', Array.from({ length: MANY_PARTS }, (_, n) => field(`f${n}`, '1')).join('') + end),
    upload('two files', good + good + end),
    upload('huge header', `--${BOUNDARY}\r\nX: ${'h'.repeat(65_536)}\r\n\r\nhello\r\n${end}`),
    upload('many headers', `--${BOUNDARY}\r\n${'X: y\r\n'.repeat(3_000)}\r\nhello\r\n${end}`),
    upload(
      'nested multipart',
      part('file', 'a', 'x').replace('text/plain', `multipart/mixed; boundary=${BOUNDARY}`) + end,
    ),
    upload(
      'odd transfer encoding',
      good.replace('text/plain', 'text/plain\r\nContent-Transfer-Encoding: base64') + end,
    ),
    upload('json for an upload', '{"files":{"f":{"filepath":"/etc/passwd"}}}', 'application/json', true),
    upload('file as a text field', field('file', 'hello') + end),
  ];
}

function upload(about: string, body: string, type?: string, mustRefuse = false): FuzzRequest {
  return {
    about: `upload: ${about}`,
    method: 'POST',
    path: '/blobs',
    role: 'left',
    headers: { 'content-type': type ?? `multipart/form-data; boundary=${BOUNDARY}` },
    body: Buffer.from(body, 'utf8'),
    mustRefuse,
    mayHangUp: true,
  };
}

function part(name: string, filename: string, content: string): string {
  const disposition = `Content-Disposition: form-data; name="${name}"; filename="${filename}"`;
  return `--${BOUNDARY}\r\n${disposition}\r\nContent-Type: text/plain\r\n\r\n${content}\r\n`;
}

function field(name: string, value: string): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
}
