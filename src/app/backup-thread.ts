/** What runs in the thread that makes and restores backups. It may be ended at any moment: nothing half-made counts. */

import { parentPort, workerData } from 'node:worker_threads';
import { type Destination, openPlace } from '../backup/destination.ts';
import type { Kind } from '../backup/names.ts';
import { type ProblemKind, problemOf } from '../backup/problem.ts';
import { restoreNewest, type Restored } from '../backup/restore.ts';
import { type Entry, type Installation, list, type Made, make, type Status, status } from '../backup/run.ts';
import { yieldToOthers } from '../runtime/background.ts';
import { systemClock } from '../runtime/clock.ts';
import { answer } from '../runtime/thread.ts';

export interface BackupData {
  readonly installation: Installation;
  readonly destinations: readonly Destination[];
}

/** A problem as it passes from one thread to another, where an error would lose what it is. */
export interface Problem {
  readonly kind: ProblemKind;
  readonly message: string;
  readonly partly: boolean;
}

export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: Problem };

export interface BackupMethods {
  readonly make: (kind: Kind, now: number) => Promise<Outcome<readonly Made[]>>;
  readonly restore: (request: {
    readonly force: boolean;
    readonly name: string | null;
  }) => Promise<Outcome<Restored>>;
  readonly list: () => Promise<Outcome<readonly Entry[]>>;
  readonly status: () => Promise<Outcome<Status>>;
}

if (parentPort !== null) {
  yieldToOthers();
  answer(parentPort, await openMethods(workerData as BackupData));
}

async function openMethods({ installation, destinations }: BackupData): Promise<BackupMethods> {
  const clock = systemClock();
  const { dataDir, blobFolder, objectFolder, postgresUrl } = installation;
  const places = await Promise.all(
    destinations.map((one) => openPlace(one, (delayMs, task) => clock.after(delayMs, task))),
  );
  return {
    make: (kind, now) => outcomeOf(() => make(installation, places, kind, now)),
    restore: (request) =>
      outcomeOf(() =>
        restoreNewest({
          dataDir,
          blobFolder,
          objectFolder,
          places,
          onPostgres: postgresUrl !== null,
          ...request,
        }),
      ),
    list: () => outcomeOf(() => list(places)),
    status: () => outcomeOf(() => status(dataDir, places)),
  };
}

export async function outcomeOf<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    const { kind, message, partly } = problemOf(error);
    return { ok: false, problem: { kind, message, partly } };
  }
}
