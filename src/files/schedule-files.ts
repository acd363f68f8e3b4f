/** schedules/<id>.json: one file per schedule, looked at every few seconds, and gone with its schedule. */

import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../domain/ports.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { Reads } from '../store/store.ts';
import { syncFolder } from '../disk/folder.ts';
import { replaceFile } from './atomic.ts';
import { fileNameOf } from './file-name.ts';
import { scheduleDocument } from './schedule-document.ts';
import { ScheduleRounds } from './schedule-rounds.ts';

/** At most so many files are written in one pass. */
const PASS_SCHEDULES = 100;

type ScheduleReads = Pick<Reads, 'schedules' | 'runs'>;

export class ScheduleFiles {
  readonly #folder: string;
  readonly #read: ScheduleReads;
  readonly #rounds: ScheduleRounds;

  constructor(folder: string, read: ScheduleReads, clock: Pick<Clock, 'now'>) {
    this.#folder = folder;
    this.#read = read;
    const print = (schedules: readonly Schedule[]): Promise<string[]> => this.#print(schedules);
    this.#rounds = new ScheduleRounds({ read, clock, pageSize: PASS_SCHEDULES, print });
  }

  get underWay(): boolean {
    return this.#rounds.underWay;
  }

  hurry(): void {
    this.#rounds.hurry();
  }

  /** Answers how many files it changed. */
  async write(): Promise<number> {
    const step = await this.#rounds.next();
    if (step === null) return 0;
    let changes = 0;
    for (const { id, text } of step.changed) changes += (await this.#put(this.#fileOf(id), text)) ? 1 : 0;
    const stale = step.all === null ? step.gone.map((id) => this.#fileOf(id)) : await this.#others(step.all);
    for (const file of stale) await rm(file, { force: true });
    changes += stale.length;
    if (changes > 0) await syncFolder(this.#folder);
    this.#rounds.done(step);
    return changes;
  }

  /** After a restart everything is news; most files say it already. */
  async #put(file: string, text: string): Promise<boolean> {
    if ((await readFile(file, 'utf8').catch(() => null)) === text) return false;
    await replaceFile(file, text);
    return true;
  }

  async #print(schedules: readonly Schedule[]): Promise<string[]> {
    if (schedules.length === 0) return [];
    const waiting = await this.#read.runs.waiting(schedules.map(({ id }) => id));
    return schedules.map((schedule) => scheduleDocument(schedule, waiting.get(schedule.id) ?? 0));
  }

  /** Files that an earlier process left of schedules that are gone by now, or left half written. */
  async #others(ids: readonly string[]): Promise<string[]> {
    const wanted = new Set(ids.map((id) => this.#fileOf(id)));
    const names = (await readdir(this.#folder)).filter((name) => /\.json(\.tmp)?$/.test(name));
    return names.map((name) => path.join(this.#folder, name)).filter((file) => !wanted.has(file));
  }

  #fileOf(id: string): string {
    return path.join(this.#folder, `${fileNameOf(id)}.json`);
  }
}
