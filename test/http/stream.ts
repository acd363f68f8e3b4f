import http from 'node:http';

export interface SeenEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventReader {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly events: readonly SeenEvent[];
  readonly comments: readonly string[];
  /** The last id that was named, with an event or without. */
  readonly lastId: string;
  readonly socket: http.IncomingMessage['socket'];
  /** Resolves with the first `count` events. */
  first(count: number): Promise<readonly SeenEvent[]>;
  /** Resolves when the server has closed the stream. */
  readonly closed: Promise<void>;
  pause(): void;
  resume(): void;
  close(): void;
}

export interface ReadingOptions {
  readonly token: string;
  readonly query?: string;
  readonly lastEventId?: string;
}

const PATIENCE_MS = 45_000;

/** Follows GET /events as a browser would, except that it does not come back by itself. */
export function readEvents(url: string, options: ReadingOptions): Promise<EventReader> {
  const { token, query = '', lastEventId } = options;
  return new Promise((resolve, reject) => {
    const request = http.get(
      `${url}/events${query}`,
      {
        agent: false,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'text/event-stream',
          ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
        },
      },
      (incoming) => resolve(new Reader(incoming)),
    );
    request.on('error', reject);
  });
}

class Reader implements EventReader {
  readonly events: SeenEvent[] = [];
  readonly comments: string[] = [];
  readonly closed: Promise<void>;
  lastId = '';
  readonly #incoming: http.IncomingMessage;
  #rest = '';
  #wake: () => void = () => undefined;

  constructor(incoming: http.IncomingMessage) {
    this.#incoming = incoming;
    incoming.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    this.closed = new Promise((resolve) => incoming.once('close', () => resolve()));
    incoming.on('error', () => undefined);
  }

  get status(): number {
    return this.#incoming.statusCode ?? 0;
  }
  get headers(): http.IncomingHttpHeaders {
    return this.#incoming.headers;
  }
  get socket(): http.IncomingMessage['socket'] {
    return this.#incoming.socket;
  }

  async first(count: number): Promise<readonly SeenEvent[]> {
    await new Promise<void>((resolve, reject) => {
      const late = (): void => reject(new Error(`only ${this.events.length} of ${count} events came`));
      const timer = setTimeout(late, PATIENCE_MS);
      this.#wake = () => {
        if (this.events.length < count) return;
        clearTimeout(timer);
        resolve();
      };
      this.#wake();
    });
    return this.events.slice(0, count);
  }

  pause(): void {
    this.#incoming.pause();
  }
  resume(): void {
    this.#incoming.resume();
  }
  close(): void {
    this.#incoming.destroy();
  }

  #take(text: string): void {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    for (const block of blocks) this.#read(block);
    this.#wake();
  }

  #read(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) this.comments.push(line.slice(2));
      else fields.set(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2));
    }
    this.lastId = fields.get('id') ?? this.lastId;
    const data = fields.get('data');
    if (data === undefined) return;
    const type = fields.get('event') ?? 'message';
    this.events.push({ id: this.lastId, type, data: JSON.parse(data) as SeenEvent['data'] });
  }
}
