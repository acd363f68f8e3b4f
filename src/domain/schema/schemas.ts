/** The schemas of types: judged when a type is saved, compiled once, and checked within a bounded time. */

import { LIMITS } from '../limits.ts';
import { type Meter, TooCostly } from './check.ts';
import { type Compiled, compile, SchemaProblem } from './compile.ts';

/** Keywords of all compiled schemas that are kept: about 30 MB. */
const KEPT_KEYWORDS = 50_000;

/** Why params are refused: they do not fit, they cost too much, or their type was stored with a schema that cannot be used. */
export interface Mismatch {
  readonly kind: 'unfit' | 'costly' | 'unusable';
  readonly why: string;
}

export class Schemas {
  readonly #compiled = new Map<string, Compiled>();
  #keywords = 0;

  /** What is wrong with the schema itself, in words; null when it is usable. */
  problemWith(schema: unknown): string | null {
    try {
      this.#compile(JSON.stringify(schema));
      return null;
    } catch (error) {
      return wordsOf(error);
    }
  }

  /** Why `value` is refused; null when it fits. What is checked with one meter shares its steps. */
  mismatch(schemaText: string, value: unknown, meter: Meter): Mismatch | null {
    let compiled: Compiled;
    try {
      compiled = this.#compile(schemaText);
    } catch (error) {
      return { kind: 'unusable', why: wordsOf(error) };
    }
    try {
      const found = compiled.check(value, meter);
      return found === null ? null : { kind: 'unfit', why: `${found.at || 'it'} ${found.why}` };
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error;
      return { kind: 'costly', why: error.message };
    }
  }

  #compile(text: string): Compiled {
    const known = this.#compiled.get(text);
    if (known !== undefined) return known;
    if (text.length > LIMITS.schemaChars)
      throw new SchemaProblem(`it has more than ${LIMITS.schemaChars} characters; use a simpler one`);
    const fresh = compile(JSON.parse(text));
    if (this.#keywords + fresh.keywords > KEPT_KEYWORDS) {
      this.#compiled.clear();
      this.#keywords = 0;
    }
    this.#compiled.set(text, fresh);
    this.#keywords += fresh.keywords;
    return fresh;
  }
}

/** A stored text may be anything, so that not only our own words can come of it. */
function wordsOf(error: unknown): string {
  if (error instanceof SchemaProblem) return error.message;
  if (error instanceof TooCostly) return 'it is too large; use a simpler one';
  if (error instanceof SyntaxError) return 'it is not valid JSON';
  if (error instanceof RangeError) return 'it is nested too deep';
  throw error;
}
