import { baseline } from './0001_baseline.ts';
import type { Migration } from './migration.ts';

export const MIGRATIONS: readonly Migration[] = [baseline];
