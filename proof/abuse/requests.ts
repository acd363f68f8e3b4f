/** Requests as they go over the wire, each with the status that shows that it has its effect. */

import type { TestServer } from '../../test/support/server.ts';
import type { AttackRequest } from './attack.ts';

type Status = AttackRequest['status'];

export function get(server: TestServer, token: string, path: string, status: Status = '200'): AttackRequest {
  return request(server, token, 'GET', path, { status });
}

export function post(
  server: TestServer,
  token: string,
  path: string,
  body: object,
  sent: { readonly status?: Status; readonly headers?: string } = {},
): AttackRequest {
  return request(server, token, 'POST', path, { ...sent, body: JSON.stringify(body) });
}

export function askMcp(
  server: TestServer,
  token: string,
  method: string,
  params: object,
  status: Status = '200',
): AttackRequest {
  const headers = `${JSON_TYPE}accept: application/json, text/event-stream\r\n`;
  return post(server, token, '/mcp', { jsonrpc: '2.0', id: 1, method, params }, { status, headers });
}

export function callTool(
  server: TestServer,
  token: string,
  name: string,
  given: object,
  status: Status = '200',
): AttackRequest {
  return askMcp(server, token, 'tools/call', { name, arguments: given }, status);
}

export function upload(server: TestServer, token: string, path: string, leaseToken?: string): AttackRequest {
  const part = 'content-disposition: form-data; name="file"; filename="x"\r\n\r\nx';
  const lease = leaseToken === undefined ? '' : `x-lease-token: ${leaseToken}\r\n`;
  const headers = `content-type: multipart/form-data; boundary=BOUND\r\n${lease}`;
  const body = `--BOUND\r\n${part}\r\n--BOUND--\r\n`;
  return request(server, token, 'POST', path, { body, headers });
}

const JSON_TYPE = 'content-type: application/json\r\n';

/** Texts are plain ASCII, so that characters are bytes. */
export function request(
  { port }: TestServer,
  token: string,
  method: string,
  path: string,
  { body, status = '200', headers = JSON_TYPE }: Sent = {},
): AttackRequest {
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n`;
  const rest = body === undefined ? '\r\n' : `${headers}content-length: ${body.length}\r\n\r\n${body}`;
  return { text: `${head}${rest}`, status };
}

interface Sent {
  readonly body?: string;
  readonly status?: Status;
  readonly headers?: string;
}
