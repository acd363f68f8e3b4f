import { jobs } from './0001_jobs.ts';
import type { Migration } from './migration.ts';

export const MIGRATIONS: readonly Migration[] = [jobs];
