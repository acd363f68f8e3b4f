/**
 * The engine's time: it follows the installation's clock, and never runs backwards. When that clock is set forward (or
 * the machine slept), time follows at once. When it is set back, time runs a tenth slower until the clock has caught
 * up: order stays order, leases last about their length, and ticks neither repeat nor stand still.
 */

const SLOWER_BY = 0.1;
/** Less is a clock being trimmed. */
const STEP_MS = 2_000;

export class SteadyTime {
  #monoMs = Number.NaN;
  #nowMs = 0;
  #steppedMs = 0;

  /** `monoMs` counts without steps; `clockMs` is what the installation's clock says. */
  read(monoMs: number, clockMs: number): number {
    const isFirst = Number.isNaN(this.#monoMs);
    const elapsedMs = isFirst ? 0 : Math.max(0, monoMs - this.#monoMs);
    this.#monoMs = monoMs;
    const keptMs = this.#nowMs + elapsedMs;
    const aheadMs = keptMs - clockMs;
    if (!isFirst && aheadMs < -STEP_MS) this.#steppedMs -= aheadMs;
    this.#nowMs = aheadMs <= 0 ? clockMs : Math.max(clockMs, keptMs - elapsedMs * SLOWER_BY);
    return Math.floor(this.#nowMs);
  }

  /** Goes on from a moment that has been; nothing that comes may be older. */
  startFrom(ms: number): void {
    this.#nowMs = Math.max(this.#nowMs, ms);
  }

  /** By how much time was set forward since this was last asked. */
  takeStepMs(): number {
    const ms = this.#steppedMs;
    this.#steppedMs = 0;
    return ms;
  }
}
