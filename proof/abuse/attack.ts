import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export interface Attack {
  readonly port: number;
  readonly connections: number;
  readonly forMs: number;
  /** Whole requests as they go over the wire; the connections share them out among themselves. */
  readonly requests: readonly string[];
}

export interface Tally {
  /** How often each status was answered. */
  readonly answers: Record<string, number>;
  /** Connections that broke. */
  broken: number;
}

/** Stands in a request for a number that is another in each that is sent. */
export const NUMBER = '%%NUMBER%%';

const ATTACKER = fileURLToPath(new URL('attacker.ts', import.meta.url));

/** With less right to the processor than the server and those who are measured: the load is what counts, not its speed. */
export async function sendAttack(attack: Attack): Promise<Tally> {
  const child = spawn('nice', ['-n', '15', process.execPath, ATTACKER], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(attack));
  return JSON.parse(await text(child.stdout)) as Tally;
}
