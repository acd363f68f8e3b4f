/** One open WebSocket to a gateway: frames out and in, requests matched to their answers by id. */

import type { Clock } from '../domain/ports.ts';
import { frameRefused } from './classify.ts';
import { GatewayError } from './errors.ts';
import { type Fields, fields, parsed, textOf } from './json.ts';

/** Above what a gateway may buffer for one client. */
const FRAME_MAX_CHARS = 64 * 1024 * 1024;
const PENDING_MAX = 10_000;

export interface Answer {
  readonly ok: boolean;
  readonly payload: Fields;
  readonly error: unknown;
}

/** Some methods answer twice: when they have taken the request, and when it is done. */
export interface Exchange {
  readonly first: Answer;
  /** Rejects when the connection breaks before. */
  readonly last: Promise<Answer>;
  /** No longer waits for the last answer. */
  readonly forget: () => void;
}

interface Pending {
  readonly answered: (answer: Answer) => void;
  readonly broken: (error: GatewayError) => void;
}

export class Connection {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #pending = new Map<string, Pending>();
  readonly #closed: (why: string) => void;
  #asked = 0;
  #heard = 0;
  #open = true;
  /** What the gateway takes in one frame; a longer one would make it close the connection for everybody. */
  maxPayloadBytes = Number.POSITIVE_INFINITY;

  constructor(
    socket: WebSocket,
    clock: Clock,
    onEvent: (event: Fields) => void,
    onClose: (why: string) => void,
  ) {
    this.#socket = socket;
    this.#clock = clock;
    this.#closed = onClose;
    socket.addEventListener('message', ({ data }) => this.#receive(data, onEvent));
    socket.addEventListener('close', ({ code, reason }) => this.#end(`closed with ${code} ${reason}`.trim()));
    socket.addEventListener('error', () => this.#end('the connection failed'));
  }

  /** Fails with `lost` when no answer comes: the request may have been taken. */
  async request(method: string, params: Fields, limitMs: number): Promise<Fields> {
    return contentOf((await this.exchange(method, params, limitMs)).first);
  }

  exchange(method: string, params: Fields, limitMs: number): Promise<Exchange> {
    const id = String(++this.#asked);
    const frame = JSON.stringify({ type: 'req', id, method, params });
    return new Promise((resolve, reject) => {
      this.#checkRoom(frame);
      const heard = this.#heard;
      const callOff = this.#clock.after(limitMs, () => {
        const why = `no answer to ${method} within ${limitMs} ms`;
        // A gateway that says nothing at all is gone; one that speaks has only failed this request.
        if (this.#heard === heard) this.close(why);
        this.#pending.delete(id);
        reject(new GatewayError('lost', why));
      });
      const last = Promise.withResolvers<Answer>();
      // Most callers care only about the first answer.
      last.promise.catch(() => undefined);
      this.#pending.set(id, {
        broken: (error) => {
          callOff();
          reject(error);
        },
        answered: (first) => {
          callOff();
          if (first.payload['status'] === 'accepted' || first.payload['status'] === 'in_flight') {
            this.#pending.set(id, { answered: last.resolve, broken: last.reject });
          } else last.resolve(first);
          resolve({ first, last: last.promise, forget: () => this.#pending.delete(id) });
        },
      });
      this.#socket.send(frame);
    });
  }

  close(why: string): void {
    this.#socket.close();
    this.#end(why);
  }

  #checkRoom(frame: string): void {
    if (!this.#open) throw new GatewayError('down', 'the connection to the gateway is closed');
    if (this.#pending.size >= PENDING_MAX)
      throw new GatewayError('down', 'too many requests wait for the gateway');
    const bytes = Buffer.byteLength(frame);
    if (bytes <= this.maxPayloadBytes) return;
    throw new GatewayError(
      'refused',
      `the request has ${bytes} bytes, the gateway takes ${this.maxPayloadBytes}`,
    );
  }

  #receive(data: unknown, onEvent: (event: Fields) => void): void {
    if (!this.#open) return;
    this.#heard += 1;
    if (typeof data !== 'string') return this.close('the gateway sent a frame that is not text');
    if (data.length > FRAME_MAX_CHARS)
      return this.close(`the gateway sent a frame of ${data.length} characters`);
    const frame = fields(parsed(data));
    if (frame['type'] === 'event') return onEvent(frame);
    if (frame['type'] !== 'res')
      return this.close('the gateway sent a frame that is neither answer nor event');
    const id = textOf(frame['id']) ?? '';
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.answered({ ok: frame['ok'] === true, payload: fields(frame['payload']), error: frame['error'] });
  }

  #end(why: string): void {
    if (!this.#open) return;
    this.#open = false;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#closed(why);
    for (const { broken } of pending) broken(new GatewayError('lost', `lost the gateway: ${why}`));
  }
}

export function contentOf(answer: Answer): Fields {
  if (!answer.ok) throw frameRefused(answer.error);
  return answer.payload;
}
