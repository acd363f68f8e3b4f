import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobBody } from '../../test/support/http.ts';
import { startServer, type TestServer } from '../../test/support/server.ts';
import { residentMb } from '../process.ts';
import type { ProofStore } from '../stores.ts';

const COMMENT_CHARS = 15_000;

interface StalledOptions {
  readonly stalled: number;
  readonly unreadMb: number;
  readonly settleMs: number;
}

/** What readers that never read cost the server at most, in MB, first of new events and then of old ones. */
export async function costOfStalled(
  store: ProofStore,
  { stalled: readers, unreadMb: megabytes, settleMs }: StalledOptions,
): Promise<{ oldMb: number; newMb: number; violations: string[] }> {
  await using server = await startServer(store.server);
  const peak = watchPeak(server.pid);
  // The same work without readers first, or its own cost would be counted. A server at rest has given that back already.
  const violations = await writeMuch(server, megabytes * 2);
  await sleep(settleMs);
  const baseMb = peak.take();
  const aboveBase = (): number => Math.max(0, peak.take() - baseMb);
  const sockets: Socket[] = [];
  try {
    sockets.push(...(await stall(server, readers, '')));
    violations.push(...(await writeMuch(server, megabytes)));
    await sleep(settleMs);
    const newMb = aboveBase();
    for (const socket of sockets.splice(0)) socket.destroy();
    sockets.push(...(await stall(server, readers, '?after=0')));
    await sleep(settleMs);
    const oldMb = aboveBase();
    const health = await server.anyone.get('/health');
    if (health.status !== 200) violations.push(`/health answered ${health.status} with stalled readers`);
    return { oldMb, newMb, violations };
  } finally {
    peak.stop();
    for (const socket of sockets) socket.destroy();
  }
}

function watchPeak(pid: number): { take(): number; stop(): void } {
  let peakMb = 0;
  const timer = setInterval(() => {
    peakMb = Math.max(peakMb, residentMb(pid) ?? 0);
  }, 20);
  return {
    take: () => {
      const found = peakMb;
      peakMb = 0;
      return found;
    },
    stop: () => clearInterval(timer),
  };
}

/** Readers that take the headers of the answer and then nothing more. */
function stall(server: TestServer, readers: number, query: string): Promise<Socket[]> {
  const head = `GET /events${query} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${server.tokens.head}\r\n\r\n`;
  const open = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect(server.port, '127.0.0.1', () => socket.write(head));
      socket.once('error', reject);
      socket.once('data', (chunk: Buffer) => {
        socket.pause();
        // Closed by the server, which is its right.
        socket.off('error', reject).on('error', () => undefined);
        if (chunk.toString('latin1').startsWith('HTTP/1.1 200')) resolve(socket);
        else reject(new Error(`a reader was answered ${chunk.toString('latin1').slice(0, 200)}`));
      });
    });
  return Promise.all(Array.from({ length: readers }, open));
}

async function writeMuch(server: TestServer, megabytes: number): Promise<string[]> {
  const text = 'x'.repeat(COMMENT_CHARS);
  const violations: string[] = [];
  for (let left = megabytes * 1_000_000; left > 0; left -= COMMENT_CHARS) {
    // A job each: every answer shows the job with all its comments.
    const { id } = (await server.head.post<JobBody>('/jobs', { target: 'left-claw' })).body;
    const answer = await server.head.post(`/jobs/${id}/comment`, { text });
    if (answer.status !== 200) violations.push(`a comment was answered ${answer.status} ${answer.text}`);
  }
  return violations;
}
