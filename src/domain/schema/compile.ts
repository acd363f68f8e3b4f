/** Turns a JSON Schema that a user wrote into a check, or says what is wrong with it. */

import { isJsonObject } from '../json-object.ts';
import { LIMITS } from '../limits.ts';
import { compileCost, compiledPattern, type Pattern, patternProblem } from '../pattern.ts';
import { type Check, DEPTH, Meter, problem } from './check.ts';
import { KEYWORDS, UNUSABLE } from './keywords.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** What is wrong with a schema, in words. */
export class SchemaProblem extends Error {}

/** One schema within the whole: compiled once, however often it is referred to. */
interface Part {
  check: Check;
  /** The schemas that it applies to the same value; a circle of them would never end. */
  readonly alongside: Set<Part>;
}

export interface Compiled {
  readonly check: Check;
  /** What it takes in memory, roughly. */
  readonly keywords: number;
}

/** Patterns are compiled while others wait: 20 to 30 ms for all of one schema. */
const PATTERN_COST = 4_000;

export function compile(schema: unknown): Compiled {
  if (!isJsonObject(schema)) throw new SchemaProblem('it must be an object');
  const compiler = new Compiler(schema);
  const root = compiler.part(schema, '');
  compiler.refuseCircles();
  return { check: root.check, keywords: compiler.keywords };
}

export class Compiler {
  readonly #root: Fields;
  readonly #parts = new Map<object, Part>();
  /** For constants of the schema itself, whose size has a limit of its own. */
  readonly meter = new Meter();
  keywords = 0;
  #current: Part | null = null;
  #patternCost = 0;
  #depth = 0;

  constructor(root: Fields) {
    this.#root = root;
  }

  /** The check of a schema for a part of the value: an item, a field. */
  child(schema: unknown, at: string): Check {
    return runOf(this.part(schema, at));
  }

  /** The check of a schema for the same value. */
  alongside(schema: unknown, at: string): Check {
    const part = this.part(schema, at);
    this.#current?.alongside.add(part);
    return runOf(part);
  }

  children(schemas: unknown, at: string): Map<string, Check> {
    if (!isJsonObject(schemas)) return this.refuse(at, 'must be an object of schemas');
    return new Map(Object.entries(schemas).map(([key, schema]) => [key, this.child(schema, `${at}/${key}`)]));
  }

  list(schemas: unknown, at: string, compile: (schema: unknown, at: string) => Check): Check[] {
    if (!Array.isArray(schemas) || schemas.length === 0)
      return this.refuse(at, 'must be a list of schemas, not empty');
    return schemas.map((schema, i) => compile(schema, `${at}/${i}`));
  }

  pattern(pattern: unknown, at: string): Pattern {
    if (typeof pattern !== 'string') return this.refuse(at, 'must be text');
    this.#patternCost += compileCost(pattern);
    if (this.#patternCost > PATTERN_COST)
      return this.refuse(at, 'is one pattern too many: all of a schema have 4000 characters together');
    const wrong = patternProblem(pattern);
    if (wrong !== null) return this.refuse(at, wrong.replace(/\.$/, ''));
    return compiledPattern(pattern);
  }

  /** What `#/$defs/name` means. */
  referred(reference: unknown, at: string): Check {
    if (typeof reference !== 'string' || !/^#(?:$|\/)/.test(reference))
      return this.refuse(at, 'must point into this schema, like "#/$defs/name"');
    let target: unknown = this.#root;
    for (const step of reference.split('/').slice(1)) {
      const key = decoded(step);
      const owner = target as Fields;
      target =
        typeof target === 'object' && target !== null && Object.hasOwn(owner, key) ? owner[key] : undefined;
    }
    if (target === undefined) return this.refuse(at, `names nothing: there is no ${reference.slice(0, 200)}`);
    return this.alongside(target, reference.slice(1));
  }

  part(schema: unknown, at: string): Part {
    if (typeof schema === 'boolean') return schema ? ANYTHING : NOTHING;
    if (!isJsonObject(schema)) return this.refuse(at, 'must be a schema: an object, true or false');
    const known = this.#parts.get(schema);
    if (known !== undefined) return known;
    const part: Part = { check: anything, alongside: new Set() };
    this.#parts.set(schema, part);
    const outer = this.#current;
    this.#current = part;
    if (++this.#depth > DEPTH) this.refuse(at, 'is nested too deep');
    part.check = all(this.#checksOf(schema, at));
    this.#depth--;
    this.#current = outer;
    return part;
  }

  #checksOf(schema: Fields, at: string): Check[] {
    const checks: Check[] = [];
    for (const [name, operand] of Object.entries(schema)) {
      if (++this.keywords > LIMITS.schemaKeywords)
        this.refuse('', `has more than ${LIMITS.schemaKeywords} keywords; use a simpler one`);
      const place = `${at}/${name}`;
      const unusable = UNUSABLE.get(name);
      if (unusable !== undefined && !(name === '$id' && at === '')) this.refuse(place, unusable);
      const check = KEYWORDS.get(name)?.(operand, { at: place, schema, compiler: this });
      if (check) checks.push(check);
    }
    return checks;
  }

  refuse(at: string, why: string): never {
    throw new SchemaProblem(`${at === '' ? 'it' : at.slice(0, 300)} ${why}`);
  }

  /** Schemas that apply one another to the same value would never come to an end. */
  refuseCircles(): void {
    const done = new Set<Part>();
    const open = new Set<Part>();
    const visit = (part: Part): void => {
      if (open.has(part)) throw new SchemaProblem('it has schemas that refer to each other in a circle');
      if (done.has(part)) return;
      open.add(part);
      for (const next of part.alongside) visit(next);
      open.delete(part);
      done.add(part);
    };
    for (const part of this.#parts.values()) visit(part);
  }
}

const anything: Check = () => null;
const ANYTHING: Part = { check: anything, alongside: new Set() };
const NOTHING: Part = { check: () => problem('is not allowed'), alongside: new Set() };

/** The part's own check may be made only after those that refer to it. */
function runOf(part: Part): Check {
  return (value, meter) => {
    meter.enter();
    const found = part.check(value, meter);
    meter.leave();
    return found;
  };
}

function all(checks: readonly Check[]): Check {
  return (value, meter) => {
    meter.spend(checks.length);
    for (const check of checks) {
      const found = check(value, meter);
      if (found !== null) return found;
    }
    return null;
  };
}

function decoded(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}
