/** What the pure core needs from the outside world, so that tests can steer it. */

/** Epoch milliseconds that never run backwards, and timers on the same clock. */
export interface Clock {
  now(): number;
  /** Runs `task` once after `delayMs`; the returned function calls it off. */
  after(delayMs: number, task: () => void): () => void;
}

/** The machine's two clocks. */
export interface TimeSource {
  /** Epoch milliseconds as the machine has them now; somebody may set them. */
  wallMs(): number;
  /** Milliseconds that nobody can set. */
  monoMs(): number;
}

/** Names that must not collide or be guessed. */
export interface Ids {
  /** A UUID that sorts by time, so that index inserts stay local. */
  jobId(nowMs: number): string;
  /** 128 random bits: whoever knows it holds the lease. */
  leaseToken(): string;
  /** A number in [0, 1), for jitter. */
  fraction(): number;
}
