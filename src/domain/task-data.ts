/** What bots collect for a task: batches of items, kept as objects, and files that they put into the storage themselves. */

/** An object in which one batch of items lies. */
export interface DataBatch {
  readonly key: string;
  /** Null while its bytes are on their way, and when its task is gone: then they are to be removed. */
  readonly jobNo: number | null;
  readonly dataType: string;
  readonly items: number;
  readonly size: number;
  /** Of its bytes, in hexadecimal digits. */
  readonly sha256: string;
  readonly uploadedAt: number;
  readonly uploadedBy: string;
}

export interface DataItem {
  readonly ticker?: string;
  readonly external_id?: string;
  readonly collected_at?: string;
  readonly data: unknown;
}

export interface ResultFile {
  readonly id: string;
  readonly jobNo: number;
  readonly filename: string;
  readonly key: string;
  readonly contentType: string;
  readonly size: number;
  readonly uploadedBy: string;
  readonly createdAt: number;
}

/** A batch as it is announced: who keeps it, and when, is written down beside. */
export type BatchDraft = Omit<DataBatch, 'jobNo' | 'uploadedAt' | 'uploadedBy'>;

export interface DataFilter {
  readonly dataType: string | null;
  readonly ticker: string | null;
  readonly limit: number;
  readonly offset: number;
}

/** A part of a name, and never a way to another folder. */
const DATA_TYPE = /^[A-Za-z\d][\w-]{0,99}$/;

export function isDataType(text: string): boolean {
  return DATA_TYPE.test(text);
}

/** Each batch has a name of its own: when it came, and something that no other has. */
export function batchKey(
  prefix: string,
  jobId: string,
  dataType: string,
  at: number,
  unique: string,
): string {
  const time = new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `${prefix}/${jobId}/${dataType}/${time}_${unique}.json`;
}

export function resultPrefix(jobId: string): string {
  return `worker-results/${jobId}/`;
}

/** Whether a key lies in the folder of the task's own results, whatever a storage makes of dots. */
export function isOwnResult(key: string, jobId: string): boolean {
  const prefix = resultPrefix(jobId);
  if (!key.startsWith(prefix) || /[\p{Cc}\\]/u.test(key)) return false;
  return key
    .slice(prefix.length)
    .split('/')
    .every((part) => !/^\.*$/.test(part) && !/%2e|%2f|%5c/i.test(part));
}

/** Those of a batch that have not come before, in the batch itself neither. */
export function freshItems(items: readonly DataItem[], known: ReadonlySet<string>): DataItem[] {
  const seen = new Set(known);
  return items.filter(({ external_id: id }) => {
    if (id === undefined) return true;
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}
