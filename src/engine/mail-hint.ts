/**
 * For whom messages may wait, as far as this server knows: most callers have none, and a claim or a heartbeat of theirs asks
 * the database nothing. A hint only: it is told of every message sent here, hears of those sent elsewhere by the store's
 * wake-ups, and the mail loop looks again now and then.
 */

/** More than this are not remembered at once; those left out are found by a later look. */
const REMEMBERED = 10_000;
/** Before an agent's name in a wake-up; no target has a space in its name. */
const TOLD = 'mail ';

export class MailHint {
  /** What the count was when an agent was named last. */
  readonly #waiting = new Map<string, number>();
  #told = 0;

  has(agent: string): boolean {
    return this.#waiting.has(agent);
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Rises with whatever is told: what was seen before is judged by it. */
  get told(): number {
    return this.#told;
  }

  add(agents: readonly string[]): void {
    this.#told += 1;
    for (const agent of agents) {
      if (this.#waiting.size >= REMEMBERED && !this.#waiting.has(agent)) return;
      this.#waiting.set(agent, this.#told);
    }
  }

  /** Nothing was there to hand out, as of `told`. */
  nothingFor(agent: string, told: number): void {
    if ((this.#waiting.get(agent) ?? Infinity) <= told) this.#waiting.delete(agent);
  }

  /** All for whom something waits, as of `told`. */
  replace(agents: readonly string[], told: number): void {
    const found = new Set(agents);
    for (const [agent, at] of this.#waiting) if (at <= told && !found.has(agent)) this.#waiting.delete(agent);
    this.add(agents);
  }

  /** How other servers are told. */
  static wakeUp(agents: readonly string[]): string[] {
    return agents.map((agent) => TOLD + agent);
  }

  /** Whether a wake-up was for us. */
  hear(wakeUp: string): boolean {
    if (!wakeUp.startsWith(TOLD)) return false;
    this.add([wakeUp.slice(TOLD.length)]);
    return true;
  }
}
