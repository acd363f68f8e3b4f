/**
 * Sends the same requests on many connections as fast as they are answered, and never waits when it is told to. A
 * process of its own on plain sockets: it must cost next to nothing, or it would be measured instead of the server.
 */

import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Attack, NUMBER, type Tally } from './attack.ts';

const RECONNECT_MS = 20;
/** An attack that is not answered by then has not reached the server. */
const UNANSWERED_MS = 60_000;

const attack = JSON.parse(await text(process.stdin)) as Attack;
const tally: Tally = { answers: {}, broken: 0 };
let sent = 0;
let going = true;
/** It lasts from its first answer on: on a busy machine that takes a while to come. */
let over = setTimeout(end, UNANSWERED_MS);

class Attacker {
  readonly #request: string;
  #socket: Socket | null = null;
  #head = '';
  /** What is still to come of an answer's body; null before its head is whole. */
  #left: number | null = null;

  constructor(request: string) {
    this.#request = request;
    this.#open();
  }

  end(): void {
    this.#socket?.destroy();
  }

  #open(): void {
    const socket = connect(attack.port, '127.0.0.1');
    this.#socket = socket;
    this.#head = '';
    this.#left = null;
    socket.on('connect', () => this.#send());
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => tally.broken++);
    socket.on('close', () => {
      if (going) setTimeout(() => this.#open(), RECONNECT_MS);
    });
  }

  #send(): void {
    const no = String(sent++).padStart(NUMBER.length, '0');
    if (going) this.#socket?.write(this.#request.replace(NUMBER, no), 'latin1');
  }

  #read(chunk: Buffer): void {
    let body = chunk.length;
    if (this.#left === null) {
      const before = this.#head.length;
      this.#head += chunk.toString('latin1', 0, Math.min(chunk.length, 4_096));
      const end = this.#head.indexOf('\r\n\r\n');
      if (end === -1) return;
      body = before + chunk.length - end - 4;
      this.#left = this.#begin();
    }
    this.#left -= body;
    if (this.#left > 0) return;
    this.#left = null;
    this.#head = '';
    this.#send();
  }

  /** Counts the answer; one without a length is a stream, which is read for as long as it lasts. */
  #begin(): number {
    const status = this.#head.slice(9, 12);
    if (Object.keys(tally.answers).length === 0) {
      clearTimeout(over);
      over = setTimeout(end, attack.forMs);
    }
    tally.answers[status] = (tally.answers[status] ?? 0) + 1;
    const length = /content-length: (\d+)/i.exec(this.#head)?.[1];
    return length === undefined ? Infinity : Number(length);
  }
}

const attackers = Array.from(
  { length: attack.connections },
  (_, i) => new Attacker(attack.requests[i % attack.requests.length] as string),
);
function end(): void {
  going = false;
  for (const attacker of attackers) attacker.end();
  process.stdout.write(JSON.stringify(tally));
}
