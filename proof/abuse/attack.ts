import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A whole request as it goes over the wire. */
export interface AttackRequest {
  readonly text: string;
  /** What it is answered when it has its effect; null for what may stay open without any answer. */
  readonly status: string | null;
}

export interface Attack {
  readonly port: number;
  readonly connections: number;
  readonly forMs: number;
  /** The connections share them out among themselves. */
  readonly requests: readonly AttackRequest[];
}

export interface Tally {
  /** How often each status was answered, request by request. */
  readonly answers: readonly Record<string, number>[];
  /** Connections that broke. */
  broken: number;
}

/** Stands in a request for a number that is another in each that is sent. */
export const NUMBER = '%%NUMBER%%';

const ATTACKER = fileURLToPath(new URL('attacker.ts', import.meta.url));

/** Sends attacks one after another: a line in and a line out for each. */
export interface Attackers extends AsyncDisposable {
  send(attack: Attack): Promise<Tally>;
}

/** With less right to the processor than the server and those who are measured: the load is what counts, not its speed. */
export function openAttackers(): Attackers {
  const child = spawn('nice', ['-n', '15', process.execPath, ATTACKER], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const tallies = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    send: async (attack) => {
      child.stdin.write(`${JSON.stringify(attack)}\n`);
      const { value, done } = await tallies.next();
      if (done) throw new Error('the attackers have ended');
      return JSON.parse(value) as Tally;
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      // It ends with its input, and says nothing more.
      await tallies.next();
    },
  };
}
