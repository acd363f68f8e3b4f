/**
 * Sends the same requests on many connections as fast as they are answered, and never waits when it is told to. A
 * process of its own on plain sockets: it must cost next to nothing, or it would be measured instead of the server.
 */

import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { type Attack, type AttackRequest, NUMBER, type Tally } from './attack.ts';

const RECONNECT_MS = 20;
/** An attack that has not had its effect by then has none. */
const UNANSWERED_MS = 60_000;

let sent = 0;

/** One attack: it lasts its time from its first answer on, and until each request has had its effect. */
class Assault {
  readonly attack: Attack;
  readonly tally: Tally;
  going = true;
  readonly #attackers: Attacker[];
  readonly #resolve: (tally: Tally) => void;
  #answered = 0;
  #timer: NodeJS.Timeout;
  #isTimeUp = false;
  readonly #awaited: Set<AttackRequest>;

  constructor(attack: Attack, resolve: (tally: Tally) => void) {
    this.attack = attack;
    this.tally = { answers: attack.requests.map(() => ({})), broken: 0 };
    this.#resolve = resolve;
    this.#awaited = new Set(attack.requests.filter(({ status }) => status !== null));
    this.#timer = setTimeout(() => this.#end(), UNANSWERED_MS);
    this.#attackers = Array.from(
      { length: attack.connections },
      (_, i) => new Attacker(this, i % attack.requests.length),
    );
  }

  /** On a busy machine the first answer takes a while to come. */
  count(no: number, status: string): void {
    const answers = this.tally.answers[no] as Record<string, number>;
    answers[status] = (answers[status] ?? 0) + 1;
    const request = this.attack.requests[no] as AttackRequest;
    if (request.status === status) this.#awaited.delete(request);
    if (this.#answered++ === 0) setTimeout(() => this.#timeIsUp(), this.attack.forMs);
    if (this.#isTimeUp) this.#endIfAnswered();
  }

  #timeIsUp(): void {
    this.#isTimeUp = true;
    this.#endIfAnswered();
  }

  #endIfAnswered(): void {
    if (this.#awaited.size === 0 && this.#answered >= this.attack.connections / 2) this.#end();
  }

  #end(): void {
    if (!this.going) return;
    this.going = false;
    clearTimeout(this.#timer);
    for (const attacker of this.#attackers) attacker.end();
    this.#resolve(this.tally);
  }
}

class Attacker {
  readonly #assault: Assault;
  readonly #no: number;
  #socket: Socket | null = null;
  #head = '';
  /** What is still to come of an answer's body; null before its head is whole. */
  #left: number | null = null;

  constructor(assault: Assault, no: number) {
    this.#assault = assault;
    this.#no = no;
    this.#open();
  }

  end(): void {
    this.#socket?.destroy();
  }

  #open(): void {
    const socket = connect(this.#assault.attack.port, '127.0.0.1');
    this.#socket = socket;
    this.#head = '';
    this.#left = null;
    socket.on('connect', () => this.#send());
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => this.#assault.tally.broken++);
    socket.on('close', () => {
      if (this.#assault.going) setTimeout(() => this.#assault.going && this.#open(), RECONNECT_MS);
    });
  }

  #send(): void {
    const no = String(sent++).padStart(NUMBER.length, '0');
    const { text } = this.#assault.attack.requests[this.#no] as AttackRequest;
    if (this.#assault.going) this.#socket?.write(text.replace(NUMBER, no), 'latin1');
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
    this.#assault.count(this.#no, this.#head.slice(9, 12));
    const length = /content-length: (\d+)/i.exec(this.#head)?.[1];
    return length === undefined ? Infinity : Number(length);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const attack = JSON.parse(line) as Attack;
  const tally = await new Promise<Tally>((resolve) => new Assault(attack, resolve));
  process.stdout.write(`${JSON.stringify(tally)}\n`);
}
