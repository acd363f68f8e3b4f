/** Stands between a server and its PostgreSQL, and breaks what lies between them in the ways that networks do. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * `open`: all is well. `cut`: connections are reset, new ones refused. `stalled`: nothing gets through, and all of it
 * comes later. `silent`: what is sent is lost without a word, for old connections also after the net has healed.
 */
export type Net = 'open' | 'cut' | 'stalled' | 'silent';

/**
 * What becomes of the next COMMIT. `unsent`: it never arrives. `unheard`: the database has done it, and the answer is
 * lost with the connection. `forgotten`: the same, but the connection only falls silent.
 */
export type CommitFault = 'unsent' | 'unheard' | 'forgotten';

export interface PostgresProxy extends AsyncDisposable {
  /** The database's address through this proxy. */
  readonly url: string;
  setNet(net: Net): void;
  /** Makes every open connection fall silent for ever; new ones are well. */
  halfOpenAll(): void;
  /** Breaks the next COMMIT; resolves when that has happened. */
  breakCommit(fault: CommitFault): Promise<void>;
  /** Calls it off. */
  mendCommit(): void;
  readonly connections: number;
  close(): Promise<void>;
}

interface Fault {
  readonly kind: CommitFault;
  readonly happened: () => void;
}

export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl);
  const pairs = new Set<Pair>();
  /** Those of clients that fell silent outlive them, and would keep this process until the database ends them. */
  const upstreams = new Set<Socket>();
  let net: Net = 'open';
  let fault: Fault | null = null;
  const takeFault = (): Fault | null => {
    const taken = fault;
    fault = null;
    return taken;
  };
  const server = createServer((client) => {
    if (net === 'cut') return void client.resetAndDestroy();
    const upstream = connect(Number(target.port), target.hostname);
    upstreams.add(upstream);
    upstream.once('close', () => upstreams.delete(upstream));
    const pair = new Pair(client, upstream, takeFault, () => pairs.delete(pair));
    pairs.add(pair);
    pair.set(net);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  // A listening TCP server has an address of this shape, never a path.
  url.port = String((server.address() as AddressInfo).port);
  const close = async (): Promise<void> => {
    for (const pair of pairs) pair.reset();
    for (const upstream of upstreams) upstream.destroy();
    server.close();
    await once(server, 'close');
  };
  return {
    url: url.href,
    setNet: (next) => {
      net = next;
      for (const pair of pairs) pair.set(next);
    },
    halfOpenAll: () => {
      for (const pair of pairs) pair.set('silent');
    },
    breakCommit: (kind) => new Promise((resolve) => (fault = { kind, happened: resolve })),
    mendCommit: () => (fault = null),
    get connections() {
      return pairs.size;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** One connection on its way through. */
class Pair {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #takeFault: () => Fault | null;
  readonly #sent = new Messages(false);
  #answers: { readonly fault: Fault; readonly messages: Messages } | null = null;
  #silent = false;
  #stalled = false;
  #held: { readonly to: Socket; readonly chunk: Buffer }[] = [];

  constructor(client: Socket, upstream: Socket, takeFault: () => Fault | null, onGone: () => void) {
    this.#client = client;
    this.#upstream = upstream;
    this.#takeFault = takeFault;
    client.on('data', (chunk: Buffer) => this.#fromClient(chunk));
    upstream.on('data', (chunk: Buffer) => this.#fromDatabase(chunk));
    for (const socket of [client, upstream]) {
      socket.on('error', () => undefined);
      socket.setNoDelay(true);
    }
    client.on('close', () => {
      onGone();
      // Who fell silent never says goodbye either.
      if (!this.#silent) upstream.destroy();
    });
    upstream.on('close', () => {
      if (!this.#silent && !this.#stalled) client.destroy();
    });
  }

  set(net: Net): void {
    if (net === 'cut') return this.reset();
    if (net === 'silent') this.#silent = true;
    this.#stalled = net === 'stalled';
    if (this.#stalled) return;
    for (const { to, chunk } of this.#held.splice(0)) to.write(chunk);
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.#upstream.destroy();
  }

  #fromClient(chunk: Buffer): void {
    const commits = this.#sent.read(chunk, isCommit);
    const fault = commits && !this.#silent && !this.#stalled ? this.#takeFault() : null;
    if (fault?.kind === 'unsent') {
      this.reset();
      fault.happened();
      return;
    }
    if (fault !== null) this.#answers = { fault, messages: new Messages(true) };
    this.#pass(this.#upstream, chunk);
  }

  #fromDatabase(chunk: Buffer): void {
    if (this.#answers === null) return this.#pass(this.#client, chunk);
    const { fault, messages } = this.#answers;
    if (!messages.read(chunk, isCommitted)) return;
    if (fault.kind === 'unheard') this.reset();
    else this.#silent = true;
    fault.happened();
  }

  #pass(to: Socket, chunk: Buffer): void {
    if (this.#silent) return;
    if (this.#stalled) this.#held.push({ to, chunk });
    else to.write(chunk);
  }
}

/** Just enough of PostgreSQL's messages: a letter, a length, a body. The client's first one has no letter. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  #greeted: boolean;

  constructor(greeted: boolean) {
    this.#greeted = greeted;
  }

  /** Whether one of the messages that end with this chunk is such a one. */
  read(chunk: Buffer, isOne: (letter: string, body: Buffer) => boolean): boolean {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    let found = false;
    for (;;) {
      const letters = this.#greeted ? 1 : 0;
      if (this.#rest.length < letters + 4) return found;
      const end = letters + this.#rest.readUInt32BE(letters);
      if (this.#rest.length < end) return found;
      if (letters === 1)
        found ||= isOne(String.fromCharCode(this.#rest[0] as number), this.#rest.subarray(5, end));
      this.#greeted = true;
      this.#rest = this.#rest.subarray(end);
    }
  }
}

function isCommit(letter: string, body: Buffer): boolean {
  return letter === 'Q' && body.toString('latin1').toLowerCase().startsWith('commit');
}

function isCommitted(letter: string, body: Buffer): boolean {
  return letter === 'C' && body.toString('latin1').startsWith('COMMIT');
}
