/** Why a server did not start or go on, in one line that says what to do. */

import type { Config } from '../config.ts';

export const EXIT = { config: 78, disk: 74, unavailable: 69, fault: 70 } as const;

class StartError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number, cause: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

/** Why a server stopped by itself. */
export class Fault extends StartError {
  constructor(cause: Error) {
    super(
      `The server stopped after an unexpected error: ${cause.message}. Its log tells more.`,
      EXIT.fault,
      cause,
    );
  }
}

const UNREACHABLE = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ECONNRESET',
  '57P03',
];
const REFUSED = ['28P01', '28000', '3D000'];

/** Known mishaps get words; everything else stays as it is. */
export function explained(error: unknown, config: Config): unknown {
  const place = `${config.host}:${config.port}`;
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return new StartError(
        `${place} is in use. Stop the other program, or choose another port with SPINE_PORT.`,
        EXIT.config,
        error,
      );
    case 'EADDRNOTAVAIL':
      return new StartError(
        `${config.host} is no address of this machine. Set SPINE_HOST.`,
        EXIT.config,
        error,
      );
    case 'EACCES':
      return new StartError(
        `${place} may not be opened by this user. Choose a port above 1023.`,
        EXIT.config,
        error,
      );
    case 'ENOSPC':
      return new StartError(
        `The disk of ${config.dataDir} is full. Free some space and start again.`,
        EXIT.disk,
        error,
      );
    default:
      return databaseError(error);
  }
}

function databaseError(error: unknown): unknown {
  const code = codeOf(error);
  const why = error instanceof Error ? error.message : String(error);
  if (UNREACHABLE.includes(code)) {
    return new StartError(
      `The database of DATABASE_URL cannot be reached (${why || code}).`,
      EXIT.unavailable,
      error,
    );
  }
  if (REFUSED.includes(code)) {
    return new StartError(`The database of DATABASE_URL refuses the connection: ${why}.`, EXIT.config, error);
  }
  return error;
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
