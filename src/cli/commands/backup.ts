import type { Handler } from '../command.ts';
import { CliError, EXIT, usage } from '../failure.ts';
import type {
  BackupAnswer,
  BackupManifest,
  BackupProblemKind,
  BackupRequest,
  BackupStatus,
} from '../host.ts';
import type { Session } from '../session.ts';
import { type Line, styled } from '../text/line.ts';
import { table } from '../text/table.ts';
import { duration, relative } from '../text/times.ts';
import { sizeText } from './blobs.ts';
import { fact } from './job-lines.ts';
import { SilentExit } from './silent-exit.ts';

interface ToOption {
  readonly to?: string;
}

export const snapshot: Handler<ToOption> = (session, { options }) => make(session, 'snapshot', options);
export const rollup: Handler<ToOption> = (session, { options }) => make(session, 'rollup', options);

const EXIT_OF: Readonly<Record<BackupProblemKind, number>> = {
  usage: EXIT.usage,
  settings: EXIT.config,
  refused: EXIT.auth,
  not_found: EXIT.notFound,
  conflict: EXIT.conflict,
  busy: EXIT.conflict,
  unavailable: EXIT.unavailable,
  timeout: EXIT.timeout,
  failure: EXIT.failure,
};

type Answered = Extract<BackupAnswer, { verb: string }>;

async function ask(session: Session, request: BackupRequest): Promise<Answered> {
  const answer = await session.host.backup(request, session.flags);
  if (!('problem' in answer)) return answer;
  const { kind, message } = answer.problem;
  throw new CliError(EXIT_OF[kind], kind, message);
}

const OF_A_BUCKET = 'have its storage keep versions or a copy.';

async function make(session: Session, verb: 'snapshot' | 'rollup', { to = null }: { to?: string | null }) {
  const answer = await ask(session, { verb, to });
  if (!('made' in answer)) return;
  const { made, onPostgres, buckets } = answer;
  for (const { manifest, place, changed } of made) {
    if (changed > 0) session.out.warn(changedLine(place, changed));
    if (manifest.lost.count > 0) session.out.warn(lostLine(manifest));
  }
  if (onPostgres)
    session.out.warn(
      'The database is on PostgreSQL and not in it: back that up with pg_dump, or with WAL archiving (pg_basebackup).',
    );
  if (buckets.artifacts === null && made.some(({ manifest }) => manifest.artifacts === null)) {
    const what = buckets.taskData === null ? 'Artifacts and what bots collected lie' : 'Artifacts lie';
    session.out.warn(`${what} in the database, too: they are backed up with it.`);
  }
  if (buckets.artifacts !== null)
    session.out.warn(`Artifacts lie in the bucket SPINE_BLOB_BUCKET and are not in it: ${OF_A_BUCKET}`);
  if (buckets.taskData !== null)
    session.out.warn(`What bots collected lies in the bucket S3_BUCKET and is not in it: ${OF_A_BUCKET}`);
  session.out.result({
    value: { ok: true, made },
    ids: () => made.map(({ manifest }) => manifest.name),
    lines: () =>
      made.map(({ place, manifest, removed }): Line => {
        const gone = removed === 0 ? '' : ` ${removed.toLocaleString('en')} older removed.`;
        return `Made the ${verb} ${manifest.name} in ${place}: ${contents(manifest)}; read back and checked.${gone}`;
      }),
  });
}

function contents({ jobs, database, artifacts, objects }: BackupManifest): string {
  const parts = [
    ...(database === null ? [] : [`${count(jobs, 'job')} (${sizeText(database.size)})`]),
    ...(artifacts === null ? [] : [`${count(artifacts.count, 'artifact')} (${sizeText(artifacts.bytes)})`]),
    ...(objects === null || objects.count === 0
      ? []
      : [`${count(objects.count, 'object')} of task data (${sizeText(objects.bytes)})`]),
  ];
  return parts.join(', ') || 'there is nothing that is not in the database';
}

function count(n: number, what: string): string {
  return `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`;
}

function changedLine(place: string, changed: number): string {
  return `${count(changed, 'piece')} in ${place} had changed since ${changed === 1 ? 'it was' : 'they were'} stored; what is whole here is stored again.`;
}

function lostLine({ lost }: BackupManifest): string {
  const more = lost.count > lost.ids.length ? ' and others' : '';
  const them = lost.count === 1 ? 'it is' : 'they are';
  return `${count(lost.count, 'file')} could not be read as stored, so ${them} not in it: ${lost.ids.join(', ')}${more}.`;
}

interface RestoreOptions extends ToOption {
  readonly from?: string;
  readonly force?: boolean;
}

export const restore: Handler<RestoreOptions> = async (session, { args: [name = null], options }) => {
  const { from, to, force = false } = options;
  if (from !== undefined && to !== undefined) throw usage('Name the place once, with --from.');
  if (name !== null && !/^\d{4}-\d\d-\d\d\/\d\d-\d\d-\d\d$/.test(name))
    throw usage('A backup is named like 2026-11-17/02-05-33; see: npx spine backup list');
  const answer = await ask(session, { verb: 'restore', to: from ?? to ?? null, force, name });
  if (answer.verb !== 'restore') return;
  const { restored, dataDir, onPostgres } = answer;
  const { manifest, place, skipped, lost, asides, journal } = restored;
  for (const line of skipped) session.out.warn(line);
  if (lost.length > 0)
    session.out.warn(
      `${count(lost.length, 'file')} could not be brought back: ${lost.slice(0, 20).join(', ')}.`,
    );
  if (!onPostgres && !journal && manifest.journal.length > 0)
    session.out.warn(
      'The journal could not be brought back whole, so none of it was: the server writes it anew from the database.',
    );
  const what = onPostgres ? 'The database is on PostgreSQL: restore that with its own backups.' : '';
  session.out.result({
    value: { ok: lost.length === 0, dataDir, ...restored },
    ids: () => [manifest.name],
    lines: () => [
      `Restored the ${manifest.kind} ${manifest.name} (${relative(manifest.at, session.now())}) from ${place} into ${dataDir}: ${contents(manifest)}.`,
      ...(what === '' ? [] : [what]),
      ...asides.map((aside): Line => `What was there is kept as ${aside}.`),
      ...(onPostgres
        ? []
        : ['tokens.json is in no backup: where it is missing, the first start makes new tokens.']),
    ],
  });
  if (lost.length > 0) throw new SilentExit(EXIT.failure);
};

export const list: Handler<ToOption> = async (session, { options: { to = null } }) => {
  const answer = await ask(session, { verb: 'list', to });
  if (answer.verb !== 'list') return;
  const { entries } = answer;
  const columns = [
    { head: 'name' },
    { head: 'kind' },
    { head: 'age' },
    { head: 'size', right: true },
    { head: 'place', gives: true },
  ];
  const rows = entries.map(({ name, kind, at, bytes: size, place }) => [
    name,
    kind,
    relative(at, session.now()),
    sizeText(size),
    place,
  ]);
  session.out.result({
    value: entries,
    ids: () => entries.map(({ name }) => name),
    lines: () =>
      rows.length === 0 ? ['There are no backups yet.'] : table(columns, rows, session.out.columns),
  });
};

export const status: Handler<ToOption> = async (session, { options: { to = null } }) => {
  const answer = await ask(session, { verb: 'status', to });
  if (answer.verb !== 'status') return;
  const { status } = answer;
  const isWell =
    status.lastError === null &&
    status.places.every(({ error, newest }) => error === null && (newest?.lost.count ?? 0) === 0);
  const next = nextAt(status, session.now());
  session.out.result({
    value: { ok: isWell, ...status, nextAt: next },
    lines: () => [
      fact('automatic', status.enabled ? `every ${duration(status.everyMs)}` : 'off'),
      ...(next === null ? [] : [fact('next', relative(next, session.now()))]),
      ...status.places.flatMap((place) => placeLines(place, session.now())),
      ...(status.lastError === null ? [] : [trouble(status.lastError)]),
    ],
  });
  if (!isWell) throw new SilentExit(EXIT.failure);
};

/** What a server does as soon as it runs is due now. */
function nextAt({ enabled, everyMs, lastSnapshotAt }: BackupStatus, now: number): number | null {
  return enabled ? Math.max(now, (lastSnapshotAt ?? 0) + everyMs) : null;
}

function placeLines(place: BackupStatus['places'][number], now: number): Line[] {
  const { snapshots, rollups, newest, error } = place;
  const kept = `${count(snapshots, 'snapshot')}, ${count(rollups, 'rollup')}, ${sizeText(place.bytes)}`;
  return [
    fact('place', place.place),
    ...(error === null ? [fact('kept', kept)] : [trouble(error)]),
    ...(newest === null
      ? []
      : [fact('newest', `${newest.name}, ${relative(newest.at, now)}: ${contents(newest)}`)]),
    ...(newest === null || newest.lost.count === 0 ? [] : [trouble(lostLine(newest))]),
  ];
}

function trouble(message: string): Line {
  return [styled('red', 'trouble'.padEnd(12)), ` ${message}`];
}
