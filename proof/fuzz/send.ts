import { connect } from 'node:net';
import { type HttpClient, NoAnswer } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';
import type { FuzzRequest } from './requests.ts';

const ANSWER_WITHIN_MS = 10_000;
/** A half request may keep the server waiting, and it may do so. */
const BYTES_WAIT_MS = 1_500;

/** A job that requests may be aimed at. */
export interface Aim {
  readonly id: string;
  readonly token: string;
}

/** What came back: status 0 when the server hung up without a word. */
export interface Heard {
  readonly status: number;
  readonly text: string;
  readonly problem?: string;
}

export async function send(server: TestServer, request: FuzzRequest, aim: Aim): Promise<Heard> {
  if (request.bytes !== undefined) return sendBytes(server, fillBytes(server, request.bytes));
  const client: HttpClient = { head: server.head, left: server.left, nobody: server.anyone }[request.role];
  try {
    const answer = await client.request(request.method, fill(request.path, aim), {
      headers: request.headers,
      timeoutMs: ANSWER_WITHIN_MS,
      ...(request.body === undefined ? {} : { raw: fillBody(request.body, aim) }),
    });
    return { status: answer.status, text: answer.text };
  } catch (problem) {
    const hungUp = problem instanceof NoAnswer && problem.code !== 'TIMEOUT';
    if (hungUp && request.mayHangUp === true) return { status: 0, text: '' };
    return { status: 0, text: '', problem: problem instanceof Error ? problem.message : String(problem) };
  }
}

function fill(text: string, aim: Aim): string {
  return text.replaceAll('{id}', aim.id).replaceAll('{token}', aim.token);
}

function fillBody(body: string | Buffer, aim: Aim): string | Buffer {
  return typeof body === 'string' ? fill(body, aim) : body;
}

function fillBytes(server: TestServer, bytes: Buffer): Buffer {
  // latin1 keeps every byte as it is.
  const text = bytes.toString('latin1');
  return Buffer.from(
    text.replaceAll('{head}', server.tokens.head).replaceAll('{host}', `127.0.0.1:${server.port}`),
    'latin1',
  );
}

function sendBytes(server: TestServer, bytes: Buffer): Promise<Heard> {
  return new Promise((resolve) => {
    const socket = connect(server.port, '127.0.0.1');
    let text = '';
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      const [, status = '0'] = /^HTTP\/1\.[01] (\d{3})/.exec(text) ?? [];
      resolve({ status: Number(status), text: text.split('\r\n\r\n').slice(1).join('\r\n\r\n') });
    };
    const timer = setTimeout(finish, BYTES_WAIT_MS);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', finish);
    socket.on('close', finish);
    // Half-closing tells the server that nothing more will come.
    socket.end(bytes);
  });
}
