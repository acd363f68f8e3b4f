/** The type of a job: its name, its instructions, what its params must look like and how often it is tried again. */

import { LIMITS } from './limits.ts';
import { suggest } from './suggest.ts';
import type { Scoring } from './scoring.ts';

/** How often a job that asks for a lineage without saying more is tried again. */
export const LINEAGE_RETRIES = 3;

export interface NewType {
  readonly name: string;
  readonly label: string;
  readonly sop: string | null;
  readonly paramsSchema: string | null;
  readonly maxRetries: number | null;
  readonly backoffMs: number | null;
  readonly scoring: Scoring | null;
  readonly provider: string | null;
  /** Keep what is there when the type exists already. */
  readonly onlyIfMissing: boolean;
}

/** How many jobs may follow a failed one of the type, where each retry is a job of its own and nobody says otherwise. */
export function lineageRetries(type: Pick<JobType, 'maxRetries'> | null): number {
  return type?.maxRetries ?? LINEAGE_RETRIES;
}

/** A type that is named for the first time comes into being, so that nothing has to be set up before the first job. */
export function bareType(name: string): NewType {
  return {
    name,
    label: name,
    sop: null,
    paramsSchema: null,
    maxRetries: null,
    backoffMs: null,
    scoring: null,
    provider: null,
    onlyIfMissing: true,
  };
}

/** More names than this are not looked through for the one that was meant. */
const SUGGESTED_AMONG = 200;

/**
 * Why a type must not come into being by being named; null when it may. Once somebody has declared types an unknown one is
 * probably a typo, unless whoever names it says that it is `meant`.
 */
export function newTypeProblem(
  name: string,
  known: readonly Pick<JobType, 'name' | 'declared' | 'active'>[],
  meant: boolean,
): string | null {
  const declared = known.filter((type) => type.declared);
  if (declared.length > 0 && !meant) {
    const names = declared.filter((type) => type.active).map((type) => type.name);
    const near = suggest(name, names.slice(0, SUGGESTED_AMONG));
    return `type ${name} does not exist${near === undefined ? '' : `; did you mean ${near}?`}`;
  }
  if (known.length - declared.length < LIMITS.undeclaredTypes) return null;
  return `type ${name} does not exist, and ${LIMITS.undeclaredTypes} types that nobody has declared are as many as there may be`;
}

export interface JobType {
  readonly no: number;
  readonly name: string;
  readonly label: string;
  readonly sop: string | null;
  readonly paramsSchema: string | null;
  /** How often its jobs are tried again, unless they say so themselves; null where nobody has said. */
  readonly maxRetries: number | null;
  /** How long its jobs wait after their first failure, unless they say so themselves. */
  readonly backoffMs: number | null;
  /** How its jobs stand among those of the same priority; null where the older goes first. */
  readonly scoring: Scoring | null;
  /** Whose limits its jobs run into, e.g. the provider of a model. */
  readonly provider: string | null;
  /** Somebody has said what it is; else a job was the first to name it. */
  readonly declared: boolean;
  readonly active: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}
