/** Limits of providers: that one is reached, and until when, as the error of an attempt tells it in whatever words. */

export interface ProviderLimit {
  readonly provider: string;
  /** Null when nobody said. */
  readonly untilAt: number | null;
}

/** What is known of the limits that a provider has reached. */
export interface LimitRecord {
  readonly provider: string;
  readonly untilAt: number;
  /** How many limits came one soon after the other, this one included. */
  readonly strikes: number;
}

/** Of a longer error the beginning tells. */
const LOOKED_AT_CHARS = 4_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** One report parks a provider for no longer: when it was wrong, the next attempt says so. */
const LONGEST_MS = 24 * HOUR_MS;

const REACHED =
  /\b(?:https?|status|code|error|returned|answered|got|with)\b[\s"':=(]*(?:status|code|error)?[\s"':=(]*429\b|\b429\b\W{1,3}(?:too many|rate|quota|resource)|too many requests|\brate[\s_-]?limit|\busage[\s_-]?limit|\bquota[\s_-](?:exceeded|exhausted|reached)|exceeded your (?:current )?quota|resource[\s_]exhausted/i;

const UNIT_MS: Readonly<Record<string, number>> = { d: 24 * HOUR_MS, h: HOUR_MS, m: MINUTE_MS, s: SECOND_MS };
const AMOUNT =
  /(\d{1,9}(?:\.\d{1,6})?)\s?(milliseconds?|ms|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)?(?![a-z])\s?/giy;
const AFTER =
  /\b(?:retry[\s_-]?after(?<ms>[\s_-]?ms)?|(?:try again|retry|reset\w*|available)(?: again)? (?:in|after)|reset_(?:in|after))(?:_?(?:s|secs?|seconds))?["'\s:=]*(?:for |about )?(?=\d)/i;
const AT =
  /\breset\w*(?: time)?["'\s:=]*(?:(?:at|on)\s+)?["']?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)\s?(Z|UTC|[+-]\d\d:?\d\d)?/i;
const AT_EPOCH = /(?:\breset\w*(?: time)?["'\s:=]*(?:(?:at|on)\s+)?["']?|\|)(\d{13}|\d{10})(?!\d)/i;

/** Null when the error tells of none. */
export function limitIn(error: string | null, now: number): { readonly untilAt: number | null } | null {
  const text = (error ?? '').slice(0, LOOKED_AT_CHARS);
  return REACHED.test(text) ? { untilAt: momentIn(text) ?? lengthIn(text, now) } : null;
}

function momentIn(text: string): number | null {
  const [, day, zone = 'Z'] = AT.exec(text) ?? [];
  if (day !== undefined) {
    const at = Date.parse(`${day.replace(' ', 'T')}${zone === 'UTC' ? 'Z' : zone.toUpperCase()}`);
    return Number.isNaN(at) ? null : at;
  }
  const [, epoch] = AT_EPOCH.exec(text) ?? [];
  return epoch === undefined ? null : Number(epoch) * (epoch.length === 10 ? SECOND_MS : 1);
}

/** "6m0s", "20 seconds", or a bare number of seconds. */
function lengthIn(text: string, now: number): number | null {
  const found = AFTER.exec(text);
  if (found === null) return null;
  const bare = found.groups?.['ms'] === undefined ? 's' : 'ms';
  AMOUNT.lastIndex = found.index + found[0].length;
  let ms = 0;
  for (let part = AMOUNT.exec(text); part !== null; part = AMOUNT.exec(text)) {
    const unit = (part[2] ?? bare).toLowerCase();
    ms += Number(part[1]) * (/^(?:ms|milli)/.test(unit) ? 1 : (UNIT_MS[unit.charAt(0)] ?? 0));
  }
  return now + ms;
}

/** As the reason of a job says it. */
export function limitReason(provider: string): string {
  return `${provider} is at its limit`;
}

/**
 * Where nobody says how long, each limit soon after the last one lasts twice as long, up to an hour. So does a time that is
 * over already. A short time that is said again and again is not the whole truth: it becomes longer, too, up to a minute.
 */
export function limitAfter(known: LimitRecord, said: number | null, now: number): LimitRecord {
  const lasts = now < known.untilAt;
  const strikes = lasts ? known.strikes : now - known.untilAt < HOUR_MS ? known.strikes + 1 : 1;
  const doubled = (firstMs: number, mostMs: number): number =>
    now + Math.min(firstMs * 2 ** (strikes - 1), mostMs);
  const isToCome = said !== null && said > now;
  const until = isToCome
    ? Math.min(Math.max(said, doubled(SECOND_MS, MINUTE_MS)), now + LONGEST_MS)
    : doubled(MINUTE_MS, HOUR_MS);
  if (!lasts) return { provider: known.provider, untilAt: until, strikes };
  return {
    provider: known.provider,
    untilAt: isToCome ? Math.max(until, known.untilAt) : known.untilAt,
    strikes,
  };
}
