import type { Setting } from './settings.ts';
import { suggest } from '../domain/suggest.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** The text of one setting and who said it: 'default', an environment name or a command line flag. */
export interface Stated {
  readonly text: string | null;
  readonly origin: string;
}

/** Finds what was said for a setting; contradictions are added to `problems`. */
export function findStated(setting: Setting, env: Env, problems: string[]): Stated {
  const said: { text: string; origin: string }[] = [];
  for (const origin of [setting.name, ...setting.aliases]) {
    const text = setting.secret ? env[origin] : env[origin]?.trim();
    // An empty secret is handed on: a DATABASE_URL that came out empty must not mean SQLite.
    if (text === undefined || (text === '' && !setting.secret)) continue;
    said.push({ text, origin });
  }
  const [first, ...rest] = said;
  if (!first) return { text: setting.default, origin: 'default' };
  for (const other of rest) {
    if (other.text !== first.text)
      problems.push(`${first.origin} and ${other.origin} are set to different values: keep one of them`);
  }
  return first;
}

/** What a shell job finds in its environment beside settings; `spine` may be called there too. */
const OF_A_RUN = /^SPINE_(RUN_ID|IDEMPOTENCY_KEY|TRIGGER_[A-Z_]+)$/;

/** A mistyped name would otherwise be a setting that silently does nothing. */
export function findUnknownNames(env: Env, settings: readonly Setting[]): string[] {
  const known = settings.flatMap((setting) => [setting.name, ...setting.aliases]);
  return Object.keys(env)
    .filter((name) => /^(SPINE|SCHEDULER)_/.test(name) && !known.includes(name) && !OF_A_RUN.test(name))
    .map((name) => {
      const meant = suggest(name, known);
      return `${name} is not a setting${meant ? `; did you mean ${meant}?` : ''}`;
    });
}

/** Names a bad value in a problem; no secret or password is repeated, and nothing can paint the terminal. */
export function showStated({ text, origin }: Stated, secret: boolean): string {
  if (secret || text === null) return origin;
  const open = text.replace(/\/\/[^/@]*@/, '//***@');
  const short = open.length > 60 ? `${open.slice(0, 57)}...` : open;
  return `${origin}=${/^[\x21-\x7e]+$/.test(short) ? short : JSON.stringify(short)}`;
}
