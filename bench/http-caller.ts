/**
 * HTTP/1.1 on plain sockets, as load generators speak it. A caller in Node's own client costs as much processor time
 * as the server that answers it, and both share the machine: it would be measured instead of the server.
 */

import { connect, type Socket } from 'node:net';

export interface HttpCaller {
  get<T>(path: string): Promise<T>;
  /** `headers` are whole lines, each with its end. */
  post<T>(path: string, body: unknown, headers?: string): Promise<T>;
  put<T>(path: string, body: unknown): Promise<T>;
  close(): void;
}

/** Keeps at most so many connections, with one call at a time on each; further calls wait for a free one. */
export function httpCaller(url: string, connections: number, token?: string): HttpCaller {
  const { hostname, port, host } = new URL(url);
  const bearer = token === undefined ? '' : `authorization: Bearer ${token}\r\n`;
  const fixed = ` HTTP/1.1\r\nhost: ${host}\r\n${bearer}`;
  const pool = new Pool(() => new Connection(hostname, Number(port)), connections);

  async function call<T>(request: string, text: string): Promise<T> {
    const connection = pool.take() ?? (await pool.wait());
    const answer = await connection.exchange(text);
    pool.giveBack(connection);
    if (answer.status >= 300) throw new Error(`${request} answered ${answer.status}: ${answer.body}`);
    // The caller names the shape it expects; each phase checks its own work.
    return JSON.parse(answer.body) as T;
  }

  const send = <T>(method: string, path: string, value: unknown, headers: string): Promise<T> => {
    const body = JSON.stringify(value);
    const length = Buffer.byteLength(body);
    const about = `content-type: application/json\r\ncontent-length: ${length}\r\n`;
    return call(`${method} ${path}`, `${method} ${path}${fixed}${about}${headers}\r\n${body}`);
  };
  return {
    get: (path) => call(`GET ${path}`, `GET ${path}${fixed}\r\n`),
    post: (path, value, headers = '') => send('POST', path, value, headers),
    put: (path, value) => send('PUT', path, value, ''),
    close: () => pool.close(),
  };
}

class Pool {
  readonly #open: () => Connection;
  readonly #max: number;
  readonly #all = new Set<Connection>();
  readonly #free: Connection[] = [];
  readonly #waiting: ((connection: Connection) => void)[] = [];

  constructor(open: () => Connection, max: number) {
    this.#open = open;
    this.#max = max;
  }

  take(): Connection | null {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#all.size >= this.#max) return null;
    const connection = this.#open();
    this.#all.add(connection);
    return connection;
  }

  wait(): Promise<Connection> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  giveBack(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(connection);
    else next(connection);
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

interface Exchange {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

const NOTHING = Buffer.alloc(0);

class Connection {
  readonly #socket: Socket;
  #received: Buffer = NOTHING;
  #exchange: Exchange | null = null;

  constructor(host: string, port: number) {
    this.#socket = connect({ host, port, noDelay: true });
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', (error) => this.#exchange?.reject(error));
    this.#socket.on('close', () => this.#exchange?.reject(new Error('the server closed the connection')));
  }

  exchange(request: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#exchange = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const answer = answerIn(this.#received);
    if (answer === null) return;
    this.#received = NOTHING;
    const exchange = this.#exchange;
    this.#exchange = null;
    exchange?.resolve(answer);
  }
}

/** Null while some of it is still to come. */
function answerIn(received: Buffer): Answer | null {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const head = received.toString('latin1', 0, end);
  const [, status, length] = /^HTTP\/1\.1 (\d{3}) .*\r\ncontent-length: (\d+)/is.exec(head) ?? [];
  if (status === undefined || length === undefined) throw new Error(`not the answer of a server: ${head}`);
  const from = end + 4;
  const to = from + Number(length);
  return received.length < to ? null : { status: Number(status), body: received.toString('utf8', from, to) };
}
