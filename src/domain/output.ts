/** What a run said: for the condition of a chain, for the child that it starts, and for its line in a list. */

const SUMMARY_CHARS = 500;
/** A summary is found at the beginning or not at all. */
const SUMMARY_LOOK_CHARS = 20_000;

export interface RawOutput {
  text: string;
  exitCode: number | null;
  stderr: string | null;
}

/** The output itself, without the wrapping of a result: a command's stdout, an agent's words. */
export function rawOutput(resultJson: string | null, errorJson: string | null): RawOutput {
  const result = parsed(resultJson);
  if (result !== null) return outputOf(result, ['text', 'stdout']);
  const error = parsed(errorJson);
  // A command that failed has said why on stdout, or not at all; then the message stands for it.
  if (error !== null) return outputOf(error, ['text', 'stdout', 'message', 'error'], true);
  return { text: '', exitCode: null, stderr: null };
}

function outputOf(value: unknown, keys: readonly string[], skipEmpty = false): RawOutput {
  if (typeof value === 'string') return { text: value, exitCode: null, stderr: null };
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { text: JSON.stringify(value), exitCode: null, stderr: null };
  const fields = value as Readonly<Record<string, unknown>>;
  const texts = keys.map((key) => fields[key]).filter((text) => typeof text === 'string');
  const said = skipEmpty ? (texts.find((text) => text !== '') ?? texts[0]) : texts[0];
  const exitCode = fields['exitCode'] ?? fields['exit_code'];
  const stderr = fields['stderr'];
  return {
    text: said ?? JSON.stringify(value),
    exitCode: typeof exitCode === 'number' ? exitCode : null,
    stderr: typeof stderr === 'string' ? stderr : null,
  };
}

/** What is not JSON was written by hand: it stands for itself. */
function parsed(json: string | null): unknown {
  if (json === null) return null;
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** The first lines that say something, on one line. */
export function summaryOf(text: string): string {
  if (sentinelOf(text) === 'NO_FLUSH') return 'nothing to flush';
  const head = text.slice(0, SUMMARY_LOOK_CHARS).toWellFormed();
  const lines = head
    // oxlint-disable-next-line no-control-regex -- colours of a terminal are what is to be removed
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .split(/[\n\r\u2028\u2029]+/)
    .map((line) => line.replace(/[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim())
    .filter((line) => line !== '');
  const telling = lines.filter((line) => /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(line));
  const summary = (telling.length > 0 ? telling : lines).join(' ');
  return summary.length <= SUMMARY_CHARS ? summary : `${cut(summary, SUMMARY_CHARS - 1)}…`;
}

/** Half of a surrogate pair is no character. */
function cut(text: string, chars: number): string {
  const kept = text.slice(0, chars);
  return kept.isWellFormed() ? kept : kept.slice(0, -1);
}

const SENTINELS = ['HEARTBEAT_OK', 'IDEMPOTENT_SKIP', 'TASK_FAILED'] as const;

/** The agreed word that a reply begins with. NO_FLUSH counts only when it is the whole reply. */
export function sentinelOf(text: string): (typeof SENTINELS)[number] | 'NO_FLUSH' | null {
  const trimmed = text.trim();
  if (trimmed === 'NO_FLUSH') return 'NO_FLUSH';
  const word = SENTINELS.find((sentinel) => trimmed.startsWith(sentinel));
  if (word === undefined) return null;
  return /^(?:$|[\s:])/.test(trimmed.slice(word.length)) ? word : null;
}

/** What an agent wants to know before it goes on: the whole reply is the question. */
export interface AskedInReply {
  readonly to: string;
  readonly question: string;
}

const ASK = /^ASK (@?[\p{L}\p{N}][\p{L}\p{N}._:@-]{0,98}): (\S[^]*)$/u;

/** `ASK <to>: <question>` at the very beginning, to one name; whatever only looks like it is an answer like any other. */
export function askOf(text: string): AskedInReply | null {
  const [, to, question] = ASK.exec(text.trim()) ?? [];
  return to === undefined || question === undefined ? null : { to, question };
}
