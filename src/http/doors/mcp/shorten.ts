/** Results as large as a model can read: what is longer keeps its shape, and loses the ends of its long texts. */

/** About 15,000 tokens. */
const RESULT_CHARS = 60_000;
/** How much of each text stays, and of each inner list or object, from generous to little. */
const STEPS = [
  { chars: 16_000, items: 1_000 },
  { chars: 4_000, items: 200 },
  { chars: 1_000, items: 100 },
  { chars: 300, items: 50 },
  { chars: 200, items: 20 },
] as const;
/** Lists of jobs are never cut: a claim that is not shown would be lost. */
const WHOLE_DEPTH = 1;
/** The fields of a job in a list: a lease token is shown in any case. */
const OWN_DEPTH = 3;
const LEFT_OUT = '…';

type Measure = (typeof STEPS)[number];

/** A step that comes out longer than this is given up; what it costs is bounded by what it may show. */
class Room {
  left = RESULT_CHARS;

  take(chars: number): void {
    this.left -= chars;
  }

  get isUsedUp(): boolean {
    return this.left < 0;
  }
}

/** JSON in, JSON out. */
export function shortened(text: string, howToGoOn: string): string {
  if (text.length <= RESULT_CHARS) return text;
  const value: unknown = JSON.parse(text);
  let shorter: unknown = value;
  for (const measure of STEPS) {
    const room = new Room();
    shorter = cut(value, { measure, room, isLast: measure === STEPS.at(-1) }, 0);
    if (!room.isUsedUp) break;
  }
  return JSON.stringify({ ...(shorter as object), shortened: howToGoOn });
}

interface Cutting {
  readonly measure: Measure;
  readonly room: Room;
  /** Nothing shorter follows: what finds no room any more is left out. */
  readonly isLast: boolean;
}

function cut(value: unknown, cutting: Cutting, depth: number): unknown {
  const { measure, room, isLast } = cutting;
  if (room.isUsedUp && (!isLast || depth > OWN_DEPTH)) return LEFT_OUT;
  if (typeof value === 'string') return taken(room, cutText(value, measure.chars));
  if (typeof value !== 'object' || value === null) return taken(room, value);
  room.take(2);
  if (Array.isArray(value)) {
    const shown = depth <= WHOLE_DEPTH ? value : value.slice(0, measure.items);
    const rest = value.length - shown.length;
    return [
      ...shown.map((one) => cut(one, cutting, depth + 1)),
      ...(rest > 0 ? [`… [${rest} more items]`] : []),
    ];
  }
  const names = Object.keys(value);
  // Our own objects have a few dozen fields; what callers put inside may have any number.
  const shown = names.slice(0, Math.max(measure.items, depth <= 2 ? 100 : 0));
  const rest = names.length - shown.length;
  return Object.fromEntries([
    ...shown.map((name) => [
      taken(room, cutText(name, measure.chars)),
      cut((value as Readonly<Record<string, unknown>>)[name], cutting, depth + 1),
    ]),
    ...(rest > 0 ? [['…', `[${rest} more fields]`]] : []),
  ]);
}

/** About what it takes when it is printed, with the quotes or commas around it. */
function taken<T>(room: Room, value: T): T {
  room.take(String(value).length + 3);
  return value;
}

function cutText(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const kept = text.slice(0, chars).toWellFormed();
  return `${kept}… [${text.length - kept.length} more characters]`;
}
