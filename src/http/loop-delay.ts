/** How late the event loop is. Measured from the first question on: whoever never asks does not pay for the timer. */

import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 20;

export class LoopDelay {
  #histogram: ReturnType<typeof monitorEventLoopDelay> | null = null;

  /** In seconds, since the last time this was asked. */
  take(): { readonly p50: number; readonly p99: number; readonly max: number } {
    if (this.#histogram === null) {
      this.#histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      this.#histogram.enable();
    }
    const { max } = this.#histogram;
    const taken = {
      p50: lateS(this.#histogram.percentile(50)),
      p99: lateS(this.#histogram.percentile(99)),
      max: lateS(max),
    };
    this.#histogram.reset();
    return taken;
  }

  stop(): void {
    this.#histogram?.disable();
  }
}

/** The histogram counts the time between two ticks, of which the resolution itself was intended. */
function lateS(betweenNs: number): number {
  return Number.isFinite(betweenNs) ? Math.max(0, betweenNs / 1e9 - RESOLUTION_MS / 1000) : 0;
}
