/** The usage: what an attempt took in tokens and money, as far as its holder said so. */

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Both, and what was counted beside them. */
  readonly totalTokens: number;
  /** Millionths of a dollar, so that sums stay exact. */
  readonly costMicros: number;
}

/** As a caller says it. */
export interface UsageSaid {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly costUsd?: number;
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0, costMicros: 0 };

/** More no attempt takes: what says more is no count. */
export const USAGE_TOKENS = 1_000_000_000_000;
export const USAGE_USD = 1_000_000;
const MICROS = 1_000_000;

/** The names under which agents, gateways and models count. */
const INPUT = ['inputTokens', 'input_tokens', 'prompt_tokens', 'input'];
/** What was read from a cache, or written to it, is counted apart from the rest of the input. */
const CACHED = ['cache_creation_input_tokens', 'cache_read_input_tokens'];
const OUTPUT = ['outputTokens', 'output_tokens', 'completion_tokens', 'output'];
const TOTAL = ['totalTokens', 'total_tokens', 'total'];
const COST = ['costUsd', 'cost_usd', 'total_cost_usd'];

/** Null where nothing was counted. */
export function usageSaid(said: unknown, beside: unknown = null): Usage | null {
  const counted = fields(said);
  const inputTokens = countIn(counted, INPUT) + sum(CACHED.map((name) => countIn(counted, [name])));
  const outputTokens = countIn(counted, OUTPUT);
  const totalTokens = Math.max(countIn(counted, TOTAL), inputTokens + outputTokens);
  const costUsd = amountIn(counted, COST, USAGE_USD) || amountIn(fields(beside), COST, USAGE_USD);
  const costMicros = Math.round(costUsd * MICROS);
  if (totalTokens === 0 && costMicros === 0) return null;
  return { inputTokens, outputTokens, totalTokens, costMicros };
}

/** What a result or an error tells of it, as JSON: an object with `usage`, and the cost in it or beside it. */
export function usageIn(json: string | null): Usage | null {
  // Most tell nothing; those are not read.
  if (json === null || !json.startsWith('{') || !json.includes('"usage"')) return null;
  const value: unknown = JSON.parse(json);
  const { usage, details } = fields(value);
  return usageSaid(usage, value) ?? usageSaid(fields(details)['usage'], details);
}

/** Holders tell what an attempt took so far: the higher count is the later one. */
export function raisedTo(known: Usage, said: Usage): Usage {
  return combined(known, said, Math.max);
}

export function moreThan(known: Usage, now: Usage): Usage {
  return combined(now, known, (a, b) => a - b);
}

export function added(one: Usage, other: Usage): Usage {
  return combined(one, other, (a, b) => a + b);
}

function combined(one: Usage, other: Usage, by: (a: number, b: number) => number): Usage {
  return {
    inputTokens: by(one.inputTokens, other.inputTokens),
    outputTokens: by(one.outputTokens, other.outputTokens),
    totalTokens: by(one.totalTokens, other.totalTokens),
    costMicros: by(one.costMicros, other.costMicros),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function countIn(counted: Fields, names: readonly string[]): number {
  return Math.round(amountIn(counted, names, USAGE_TOKENS));
}

/** What is no amount counts as none. */
function amountIn(counted: Fields, names: readonly string[], most: number): number {
  const value = names.map((name) => counted[name]).find((each) => each !== undefined && each !== null);
  return typeof value === 'number' && value > 0 && value <= most ? value : 0;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
