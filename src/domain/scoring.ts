/**
 * How the jobs of a type stand among those of the same priority: by points for what they are, for their tags and for how
 * long they have been ready. Points are added to the priority, so that a claim needs to know nothing of them.
 */

import type { Job } from './job.ts';
import { LIMITS } from './limits.ts';
import { ownPriority } from './priority.ts';

export interface Scoring {
  /** For every job of the type. */
  readonly points?: number;
  /** For each of these tags that a job has. */
  readonly tags?: Readonly<Record<string, number>>;
  /** For each hour that a job has been ready. */
  readonly perHour?: number;
  /** In all, at most. */
  readonly max?: number;
}

/** Bots' words for priorities are ten apart: with so much a job does not pass one with a more urgent word. */
const MOST_POINTS = 9;
const HOUR_MS = 3_600_000;

/** `points + the points of its tags + perHour x hours`, whole, from 0 to `max`. */
export function scoreOf(scoring: Scoring, tags: readonly string[], readyMs: number): number {
  const { points = 0, perHour = 0, max = MOST_POINTS } = scoring;
  const ofTags = tags.reduce((sum, tag) => sum + pointsOfTag(scoring, tag), 0);
  const ofAge = Math.floor((perHour * Math.max(0, readyMs)) / HOUR_MS);
  return Math.min(max, points + ofTags + ofAge);
}

function pointsOfTag({ tags = {} }: Scoring, tag: string): number {
  return Object.hasOwn(tags, tag) ? (tags[tag] ?? 0) : 0;
}

export type Scored = Pick<Job, 'priority' | 'score' | 'scoreAt'>;

export interface ToScore {
  /** As it was asked for. */
  readonly priority: number;
  readonly tags: readonly string[];
  /** Since when it is ready, or from when on it will be. */
  readonly readyAt: number;
}

/** The priority with the points as of now, and when there is a further one. */
export function scored(scoring: Scoring | null, { priority, tags, readyAt }: ToScore, now: number): Scored {
  if (scoring === null) return { priority, score: 0, scoreAt: null };
  const room = LIMITS.priority - priority;
  const score = Math.min(room, scoreOf(scoring, tags, now - readyAt));
  const { perHour = 0, max = MOST_POINTS } = scoring;
  const grows = perHour > 0 && score < Math.min(room, max);
  return { priority: priority + score, score, scoreAt: grows ? nextPointAt(perHour, readyAt, now) : null };
}

function nextPointAt(perHour: number, readyAt: number, now: number): number {
  const pointMs = HOUR_MS / perHour;
  const had = Math.floor(Math.max(0, now - readyAt) / pointMs);
  return readyAt + Math.ceil((had + 1) * pointMs);
}

/** As it was asked for, without points, and not raised. */
export function askedPriority({ priority, score }: Pick<Job, 'priority' | 'score'>): number {
  return ownPriority(priority) - score;
}

/** The same job with the points that it has by now; one that stands in front stays there. */
export function rescored(job: Job, scoring: Scoring | null, tags: readonly string[], now: number): Job {
  const asked = { priority: askedPriority(job), tags, readyAt: job.queuedAt ?? job.createdAt };
  const next = scored(scoring, asked, now);
  const front = job.priority - ownPriority(job.priority);
  return { ...job, ...next, priority: next.priority + front };
}
