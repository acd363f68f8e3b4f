/**
 * What backups are called. `snapshots/2026-11-17/02-05-33.json` is the manifest of one, and is written last: without it
 * the other objects that begin the same are no backup. What many of them share lies in the pools, by its SHA-256.
 */

export const KINDS = ['snapshot', 'rollup'] as const;
export type Kind = (typeof KINDS)[number];

/** Artifacts, what bots collected, and the segments of journals. */
export const POOLS = ['artifacts', 'objects', 'journal'] as const;
export type Pool = (typeof POOLS)[number];

/** Of these a backup has a list of its own: there may be millions. */
export type ListedPool = Exclude<Pool, 'journal'>;

/** Whose backups these are. */
export const OWNER_KEY = 'owner';

export interface Named {
  readonly kind: Kind;
  /** `2026-11-17/02-05-33`, in UTC. */
  readonly name: string;
}

export function nameAt(atMs: number): string {
  const [date = '', time = ''] = new Date(atMs).toISOString().split('T');
  return `${date}/${time.slice(0, 8).replaceAll(':', '-')}`;
}

export function timeOf(name: string): number {
  const [date, time = ''] = name.split('/');
  return Date.parse(`${date}T${time.replaceAll('-', ':')}Z`);
}

export const folderOf = (kind: Kind): string => `${kind}s/`;
export const manifestKey = ({ kind, name }: Named): string => `${folderOf(kind)}${name}.json`;
export const databaseKey = ({ kind, name }: Named): string => `${folderOf(kind)}${name}.db`;
export const listKey = ({ kind, name }: Named, pool: ListedPool): string =>
  `${folderOf(kind)}${name}.${pool}`;

/** The first digits make folders of it: no file system likes a million names in one. */
export const pooledKey = (pool: Pool, sha256: string): string => `${pool}/${sha256.slice(0, 2)}/${sha256}`;

const KEY = /^(snapshot|rollup)s\/(\d{4}-\d\d-\d\d\/\d\d-\d\d-\d\d)\.(.+)$/;

/** Which backup a key belongs to, and what of it it is; null for whatever else somebody keeps there. */
export function partOf(key: string): (Named & { readonly part: string }) | null {
  const [, kind, name, part] = KEY.exec(key) ?? [];
  if (name === undefined || part === undefined || Number.isNaN(timeOf(name))) return null;
  return { kind: kind === 'rollup' ? 'rollup' : 'snapshot', name, part };
}
