/** What somebody asks of Spine in a chat: a word after a slash, and what belongs to it. */

export type ChatCommand =
  | { readonly verb: 'help' | 'status' }
  | { readonly verb: 'add'; readonly type: string; readonly words: readonly string[] }
  /** Without a type: all that the queue hands out. */
  | { readonly verb: 'pause' | 'resume'; readonly type: string | null }
  /** Without a job: the only one that waits for a word. */
  | {
      readonly verb: 'approve' | 'reject';
      readonly job: string | null;
      readonly notes: string | null;
    };

/** What is wrong with it, in words for whoever wrote it. */
export interface Misunderstood {
  readonly problem: string;
}

export const CHAT_HELP = [
  '/status: what waits, what runs, what failed today',
  '/add <type> <words>: a task for the queue',
  '/pause, /resume: hand out nothing more, go on; with a type, only of that',
  '/approve <task>, /reject <task> <why>: your word on what waits for it',
].join('\n');

/** One word more than these is a mistake; and nobody types more of them. */
const WORDS = 200;

/** The command in a text, and the bot it names; null when the text is none. Words in quotes are one. */
export function commandIn(text: string): { readonly verb: string; readonly bot: string | null } | null {
  const [, verb, bot] = /^\/([a-z]\w{0,31})(?:@(\w{1,64}))?(?=\s|$)/i.exec(text) ?? [];
  return verb === undefined ? null : { verb: verb.toLowerCase(), bot: bot ?? null };
}

export function chatCommandOf(text: string): ChatCommand | Misunderstood {
  const verb = commandIn(text)?.verb ?? '';
  const [first = null, ...rest] = wordsOf(text.replace(/^\S+/, ''));
  switch (verb) {
    case 'start':
    case 'help':
      return { verb: 'help' };
    case 'status':
      return { verb };
    case 'add':
      if (first === null) return { problem: 'Say which type: /add <type> <words>' };
      if (rest.length > WORDS) return { problem: `Say it in at most ${WORDS} words.` };
      return { verb, type: first, words: rest };
    case 'pause':
    case 'resume':
      return { verb, type: first };
    case 'approve':
    case 'reject':
      return { verb, job: first?.replace(/^#/, '') ?? null, notes: rest.join(' ') || null };
    default:
      return { problem: `There is no command /${verb}.\n${CHAT_HELP}` };
  }
}

function wordsOf(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|“([^”]*)”|(\S+)/g)].map(
    (found) => found[1] ?? found[2] ?? found[3] ?? '',
  );
}
