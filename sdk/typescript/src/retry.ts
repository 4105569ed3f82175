import { ProblemError } from "./errors.js";

/**
 * How a call that is safe to repeat is repeated. Safe are reads, calls with an idempotency key
 * or an id, which are made where none was given, and calls that do nothing the second time.
 * They are repeated after a broken connection, a time-out of the attempt, 429, 502, 503 and
 * 504. Other calls (claims, mailboxes, interrupts) are repeated only when the first certainly had
 * no effect.
 */
export interface RetryPolicy {
  /** Counts the first one; 4 by default. 1 never repeats. */
  maxAttempts?: number;
  /** The pause before the second attempt; 100 by default. It doubles with each further one. Half of every pause is random. */
  baseDelayMs?: number;
  /** Bounds the pause; 5,000 by default. */
  maxDelayMs?: number;
  /**
   * The longest Retry-After that is waited for; 60,000 by default. A call with a longer one fails at once. The calls of a task wait
   * for a sixth of the lease at most.
   */
  maxRetryAfterMs?: number;
}

export function withDefaults(policy: RetryPolicy = {}): Required<RetryPolicy> {
  return {
    maxAttempts: policy.maxAttempts || 4,
    baseDelayMs: policy.baseDelayMs || 100,
    maxDelayMs: policy.maxDelayMs || 5_000,
    maxRetryAfterMs: policy.maxRetryAfterMs || 60_000,
  };
}

/** Counts failures in a row and says how long to pause after each. */
export class Pauses {
  readonly #policy: Required<RetryPolicy>;
  #failed = 0;

  constructor(policy: Required<RetryPolicy>) {
    this.#policy = policy;
  }

  reset(): void {
    this.#failed = 0;
  }

  /** Pauses after a failure. Throws the failure when the policy does not wait that long. */
  async after(failure: unknown, signal?: AbortSignal): Promise<void> {
    const delay = this.#next(failure);
    if (failure instanceof ProblemError && failure.retryAfterMs === delay && delay > this.#policy.maxRetryAfterMs) throw failure;
    await sleep(delay, signal);
  }

  /** Pauses after a failure, for as long as the policy waits at most. */
  async afterAnyway(failure: unknown, signal?: AbortSignal): Promise<void> {
    await sleep(Math.min(this.#next(failure), this.#policy.maxRetryAfterMs), signal);
  }

  #next(failure: unknown): number {
    const { baseDelayMs, maxDelayMs } = this.#policy;
    const most = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(this.#failed, 32));
    this.#failed++;
    const delay = most / 2 + Math.random() * (most / 2);
    return failure instanceof ProblemError ? Math.max(delay, failure.retryAfterMs) : delay;
  }

  /** Pauses after the empty reply of a long-poll, unless the service held it. */
  async afterHeld(askedMs: number, waitMs: number, signal?: AbortSignal): Promise<void> {
    if (now() - askedMs > waitMs / 2) {
      this.reset();
      return;
    }
    await this.after(undefined, signal);
  }
}

/** Milliseconds of a clock that nobody sets: a lease must not seem longer because the time of day was put back. */
export function now(): number {
  return performance.now();
}

/** 24 days. A timer that is set to more runs at once. */
export const longestTimer = 2 ** 31 - 1;

/** Resolves after a time, or throws the signal's reason. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, Math.min(ms, longestTimer));
    signal?.addEventListener("abort", stop, { once: true });
  });
}
