import type { Holdpoint } from "./client.js";
import { cancelledError } from "./ended.js";
import { HoldpointError, isKind } from "./errors.js";
import type { CallOptions } from "./http.js";
import { now } from "./retry.js";
import type { Claim } from "./types.js";

/** Bounds the calls that the task makes by itself while a handler waits for it. */
export const ownCallMs = 10_000;

/** The lease of a claimed run: what ends it, and the calls that are made under it. */
export class Lease {
  readonly client: Holdpoint;
  readonly runId: string;
  readonly fence: string;
  readonly ms: number;
  /** When it ends by `now` unless it is renewed. */
  expires: number;
  /** Called when nothing can be waited for any more. */
  onOver: (reason: unknown) => void = () => {};
  readonly #controller = new AbortController();
  /** Aborted when the lease is lost or the run was cancelled; later than the handler's signal when the worker stops. */
  readonly #lease = new AbortController();
  /** Calls in flight that end the lease: meanwhile the refusal of another call does not mean that it was lost. */
  #ending = 0;
  /** The error of the waits that are left, once one of them succeeded or the handler has returned. */
  #ended: HoldpointError | undefined;

  constructor(client: Holdpoint, claim: Claim, ms: number) {
    this.client = client;
    this.runId = claim.run.run_id;
    this.fence = claim.lease.fence;
    this.ms = ms;
    this.expires = now() + ms;
  }

  /** Aborted when the handler must not go on. */
  get handler(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborted when the lease is not this task's any more. */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /** The reason of a call of this task that ended the lease. */
  get ended(): HoldpointError | undefined {
    return this.#ended;
  }

  /** Whether the lease has ended, or may have, by a call of this task. */
  get ending(): boolean {
    return this.#ended !== undefined || this.#ending > 0;
  }

  /**
   * Throws when the run was cancelled or suspended, or when another worker may have it: then a decision that is known allows nothing
   * here. A handler that kept the event loop busy comes here before its renewal has noticed.
   */
  requireHeld(): void {
    if (this.ended) throw this.ended;
    if (now() >= this.expires) this.stop(new HoldpointError(["lease_lost"], "the lease could not be renewed in time"));
    this.signal.throwIfAborted();
  }

  /** Ends the handler and the calls that go on after it. */
  stop(reason: unknown): void {
    this.#lease.abort(reason);
    this.stopHandler(reason);
  }

  /** Ends the handler. */
  stopHandler(reason: unknown): void {
    this.#controller.abort(reason);
    this.onOver(reason);
  }

  /** Ends what the handler left behind. */
  close(reason: HoldpointError): void {
    this.#ended ??= reason;
    this.onOver(this.#ended);
    this.stop(this.#ended);
  }

  with(options: CallOptions): CallOptions {
    return { signal: options.signal ? both(options.signal, this.signal) : this.handler };
  }

  async calling<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (failure) {
      throw await this.refused(failure);
    }
  }

  /** Makes a call that may end the lease, with this reason for the waits that are left. */
  async end<T>(reason: HoldpointError, call: () => Promise<{ value: T; ended: boolean }>): Promise<T> {
    this.#ending++;
    try {
      const { value, ended } = await call();
      this.#ending--;
      if (ended && !this.#ended) {
        this.#ended = reason;
        this.onOver(reason);
      }
      return value;
    } catch (failure) {
      this.#ending--;
      throw await this.refused(failure);
    }
  }

  /**
   * Returns what a refusal means. When the lease is lost it aborts the signal, and asks by a
   * heartbeat whether the run was cancelled: every other call on a cancelled run is refused
   * with lease_lost.
   */
  async refused(failure: unknown): Promise<unknown> {
    if (!isKind(failure, "lease_lost") || this.ending || this.signal.aborted) return failure;
    let reason = failure;
    try {
      const beat = await this.client.heartbeat(this.runId, { fence: this.fence, lease_ms: this.ms }, { signal: AbortSignal.timeout(ownCallMs) });
      if (beat.cancel_requested) reason = cancelledError(failure);
    } catch {
      // It stays a lost lease.
    }
    this.stop(reason);
    return reason;
  }
}

export function both(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one ? AbortSignal.any([one, other]) : other;
}
