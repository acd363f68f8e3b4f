/** beanstalkd as it comes: in memory, so that nothing survives its end. Spoken to over one connection, pipelined. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Payload } from '../measure.ts';
import type { Place, Queue } from '../queue.ts';
import { startDaemon } from './daemon.ts';

const PRIORITY = 1_024;
const TIME_TO_RUN_S = 60;
const RESERVERS = 64;
const IDLE_MS = 2;

export async function openBeanstalkd(place: Place): Promise<Queue> {
  const daemon = await startDaemon('beanstalkd', place.folder, (port) => [
    '-l',
    '127.0.0.1',
    '-p',
    String(port),
  ]);
  const connection = await Connection.open(daemon.port);
  const add = async (payload: Payload): Promise<void> => {
    const body = JSON.stringify(payload);
    const head = `put ${PRIORITY} 0 ${TIME_TO_RUN_S} ${Buffer.byteLength(body)}`;
    const { words } = await connection.say(`${head}\r\n${body}`);
    if (words[0] !== 'INSERTED') throw new Error(`put was answered ${words.join(' ')}`);
  };
  const count = async (name: string): Promise<number> => {
    const { body } = await connection.say('stats-tube default');
    return Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(body)?.[1]);
  };
  return {
    add,
    addMany: (payloads) => Promise.all(payloads.map(add)),
    work: (handle) => work(daemon.port, handle),
    left: async () => (await count('current-jobs-ready')) + (await count('current-jobs-reserved')),
    finished: () => count('cmd-delete'),
    close: () => daemon.stop(),
  };
}

async function work(port: number, handle: (payload: Payload) => void): Promise<{ stop(): Promise<void> }> {
  const connection = await Connection.open(port);
  const stopping = new AbortController();
  const reserve = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const { words, body } = await connection.say('reserve-with-timeout 0');
      if (words[0] === 'RESERVED') {
        handle(JSON.parse(body) as Payload);
        // The next reserve goes out with it; answers come in order.
        void connection.say(`delete ${words[1]}`);
      } else {
        await sleep(IDLE_MS);
      }
    }
  };
  const reserving = Promise.all(Array.from({ length: RESERVERS }, reserve));
  return {
    stop: async () => {
      stopping.abort();
      await reserving;
    },
  };
}

interface Said {
  readonly words: readonly string[];
  /** Of answers that have one, else empty. */
  readonly body: string;
}

class Connection {
  readonly #socket: Socket;
  readonly #waiting: ((said: Said) => void)[] = [];
  #rest: Buffer = Buffer.alloc(0);
  #out: string[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true).on('data', (chunk: Buffer) => this.#read(chunk));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Connection(socket);
  }

  /** What is said in one round of the event loop goes out in one write. */
  say(command: string): Promise<Said> {
    if (this.#out.length === 0) queueMicrotask(() => this.#socket.write(this.#out.splice(0).join('')));
    this.#out.push(`${command}\r\n`);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (;;) {
      const lineEnd = bytes.indexOf('\r\n', from);
      if (lineEnd < 0) break;
      const words = bytes.toString('latin1', from, lineEnd).split(' ');
      const hasBody = words[0] === 'RESERVED' || words[0] === 'OK';
      const bodyEnd = lineEnd + 2 + (hasBody ? Number(words.at(-1)) : 0);
      const end = hasBody ? bodyEnd + 2 : bodyEnd;
      if (bytes.length < end) break;
      from = end;
      this.#waiting.shift()?.({ words, body: bytes.toString('utf8', lineEnd + 2, bodyEnd) });
    }
    this.#rest = bytes.subarray(from);
  }
}
