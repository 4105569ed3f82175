import { type Holdpoint, requireID } from "./client.js";
import { cancelledError, failureText, jsonOrNone, stoppedError } from "./ended.js";
import { AttemptError, HoldpointError, ProblemError, invalid, isKind, messageOf, ofRun } from "./errors.js";
import { isUnanswered, randomUUID } from "./http.js";
import { now, sleep } from "./retry.js";
import { Task } from "./task.js";
import type { Claim } from "./types.js";

/**
 * Does the work of one run. What it returns is the run's output, unless it ended the run
 * itself. When it throws, the attempt failed: the run is retried, and fails with the text of the
 * error after the last attempt. `Task.fail` fails it at once. Not counted is
 *
 * - an error that is `suspended`, from `Task.suspend` or `Task.askParent`: nothing more happens;
 * - anything, once `task.signal` was aborted with a reason that is `lease_lost` or `cancelled`;
 * - an error that is `worker_stopped`, or anything once it was aborted with that: the run is released;
 * - a `NotAllowedError`: the run fails at once, because a decision is final. It is not reported as an error.
 *
 * `Input` is the type of `task.input`, which is not checked.
 */
export type Handler<Input = unknown> = (task: Task<Input>) => unknown;

export interface WorkerOptions {
  /** Names the worker in leases; made when absent. */
  workerId?: string;
  /** The agents whose runs are claimed, at most 100; all when absent. */
  agentIds?: string[];
  /** How many runs are worked on at once; 16 by default. */
  concurrency?: number;
  /** 1,000 to 3,600,000; 30,000 by default. */
  leaseMs?: number;
  /** A third of the lease by default. */
  heartbeatMs?: number;
  /** How long one long-poll waits, 1,000 to 60,000; 30,000 by default. */
  pollMs?: number;
  /** How long handlers may work on after the worker was stopped; 30,000 by default. One that waits for a person does not use it. */
  drainMs?: number;
  /**
   * How many attempts may fail before a run does; 3 by default. 1 retries nothing. They count
   * since the last suspension that ended a lease. Attempts that fail because the service is unreachable do not count.
   */
  maxAttempts?: number;
  /** The pause after the first attempt that failed; 1,000 by default. It doubles with each further one, up to an hour. */
  retryDelayMs?: number;
  /** Gets an `AttemptError` for each attempt that failed, and the errors outside of handlers; prints them by default. What it throws itself is printed. */
  onError?: (error: unknown) => void;
}

/** Claims runs and calls a handler for each. */
export class Worker {
  readonly #client: Holdpoint;
  /** Makes the calls of runs that are held. */
  readonly #patient: Holdpoint;
  readonly #options: Required<WorkerOptions>;

  constructor(client: Holdpoint, options: WorkerOptions = {}) {
    const leaseMs = options.leaseMs ?? 30_000;
    this.#client = client;
    this.#options = {
      workerId: options.workerId ?? `js-${randomUUID()}`,
      agentIds: options.agentIds ?? [],
      concurrency: options.concurrency ?? 16,
      leaseMs,
      heartbeatMs: options.heartbeatMs ?? leaseMs / 3,
      pollMs: options.pollMs ?? 30_000,
      drainMs: options.drainMs ?? 30_000,
      maxAttempts: options.maxAttempts ?? 3,
      retryDelayMs: options.retryDelayMs ?? 1_000,
      onError: harmless(options.onError ?? ((error) => console.error(error))),
    };
    const o = this.#options;
    requireID("workerId", o.workerId);
    if (!(o.concurrency >= 1)) throw invalid("concurrency must be at least 1");
    if (!(o.leaseMs >= 1_000 && o.leaseMs <= 3_600_000)) throw invalid("leaseMs must be between 1,000 and 3,600,000");
    if (!(o.heartbeatMs > 0 && o.heartbeatMs < o.leaseMs)) throw invalid("heartbeatMs must be positive and shorter than the lease");
    if (!(o.maxAttempts >= 1)) throw invalid("maxAttempts must be at least 1");
    if (!(o.retryDelayMs >= 0 && o.retryDelayMs <= 3_600_000)) throw invalid("retryDelayMs must be between 0 and 3,600,000");
    this.#patient = client.patiently(leaseMs);
    if (!(o.pollMs >= 1_000 && o.pollMs <= 60_000)) throw invalid("pollMs must be between 1,000 and 60,000");
  }

  get workerId(): string {
    return this.#options.workerId;
  }

  /**
   * Claims runs and calls the handler for each, until the signal is aborted. Then it claims no
   * more, ends the handlers' waits for people, gives them `drainMs`, aborts the signals of those that did not finish, waits
   * for them, and releases their runs. It throws, after the same steps, when the service
   * refuses its claims for good.
   */
  async run<Input = unknown>(handler: Handler<Input>, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    const handlers = new Set<Promise<void>>();
    const stopping = new AbortController();
    const stopped = new AbortController();
    let refusal: unknown;
    try {
      await this.#claim(signal, handlers, (claim) => this.#handle(claim, handler as Handler, stopping.signal, stopped.signal));
    } catch (thrown) {
      if (!signal?.aborted) refusal = thrown;
    }
    stopping.abort();
    const drained = new AbortController();
    const timer = sleep(this.#options.drainMs, drained.signal).then(
      () => stopped.abort(stoppedError()),
      () => {},
    );
    await Promise.all(handlers);
    drained.abort();
    await timer;
    if (refusal !== undefined) throw refusal;
  }

  async #claim(signal: AbortSignal | undefined, handlers: Set<Promise<void>>, start: (claim: Claim) => Promise<void>): Promise<void> {
    const o = this.#options;
    const pauses = this.#client.transport.pauses();
    // One listener, and no race of promises that may last for days: each would keep what lost it.
    let wake = () => {};
    signal?.addEventListener("abort", () => wake(), { once: true });
    while (!signal?.aborted) {
      if (handlers.size >= o.concurrency) {
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      const asked = now();
      try {
        const claims = await this.#client.claimRuns({
          worker_id: o.workerId, lease_ms: o.leaseMs, wait_ms: o.pollMs, max_runs: Math.min(o.concurrency - handlers.size, 100),
          ...(o.agentIds.length > 0 ? { agent_ids: o.agentIds } : {}),
        }, { signal });
        for (const claim of claims) {
          const handled: Promise<void> = start(claim).finally(() => {
            handlers.delete(handled);
            wake();
          });
          handlers.add(handled);
        }
        if (claims.length > 0) pauses.reset();
        else await pauses.afterHeld(asked, o.pollMs, signal);
      } catch (failure) {
        if (signal?.aborted) return;
        if (isRefusal(failure)) throw failure;
        o.onError(failure);
        await pauses.afterAnyway(failure, signal);
      }
    }
  }

  /** Calls the handler for one run and ends the run as the outcome says. It never throws. */
  async #handle(claim: Claim, handler: Handler, stopping: AbortSignal, stopped: AbortSignal): Promise<void> {
    const task = new Task(this.#patient, claim, { leaseMs: this.#options.leaseMs, pollMs: this.#options.pollMs });
    const drain = () => task.drain();
    const stop = () => task.stopHandler(stopped.reason);
    if (stopping.aborted) drain();
    if (stopped.aborted) stop();
    stopping.addEventListener("abort", drain, { once: true });
    stopped.addEventListener("abort", stop, { once: true });
    const beating = new AbortController();
    const beats = this.#renewLease(task, beating.signal);
    try {
      await this.#finish(task, await outcomeOf(handler, task));
    } catch (thrown) {
      this.#options.onError(ofRun(task.runId, "was not finished", thrown));
    }
    stopping.removeEventListener("abort", drain);
    stopped.removeEventListener("abort", stop);
    beating.abort();
    await Promise.all([task.close(), beats]);
  }

  async #finish(task: Task, outcome: { output?: unknown; thrown?: unknown; failed: boolean }): Promise<void> {
    const suspended = isKind(outcome.thrown, "suspended");
    if (task.ended) {
      if (outcome.failed && !suspended) this.#options.onError(ofRun(task.runId, "handler failed after it had ended the run", outcome.thrown));
      return;
    }
    const why = task.lost ?? (task.signal.reason as unknown);
    const stopped = task.interrupted || isKind(why, "worker_stopped") || isKind(outcome.thrown, "worker_stopped");
    if (isKind(why, "cancelled")) return;
    if (isKind(why, "lease_lost")) return this.#options.onError(ofRun(task.runId, "was not finished", why));
    // The run is ended even if the handler's own signal was aborted.
    if (!outcome.failed) {
      try {
        return await task.endWith((c, run, fence, options) => c.completeRun(run, fence, jsonOrNone(outcome.output), options));
      } catch (failure) {
        if (!isKind(failure, "invalid")) throw failure;
        // The output has no JSON form, or the service refuses it, such as one that is too large. A retry would end in the same way.
        return await this.#failAttempt(task, new HoldpointError(failure.kinds, `output: ${failure.message}`, { cause: failure }), true);
      }
    }
    if (stopped) return await task.release();
    if (suspended) {
      const text = "the handler threw that it is suspended, without having suspended the run";
      return await task.endWith((c, run, fence, options) => c.failRun(run, fence, text, options));
    }
    if (isKind(outcome.thrown, "not_allowed")) {
      // The decision is final, so a retry would end in the same way.
      const text = failureText(messageOf(outcome.thrown));
      return await task.endWith((c, run, fence, options) => c.failRun(run, fence, text, options));
    }
    await this.#failAttempt(task, outcome.thrown);
  }

  /** Reports that the handler failed, and releases the run for a retry, or fails it after the last attempt. */
  async #failAttempt(task: Task, thrown: unknown, permanent = false): Promise<void> {
    const { maxAttempts, retryDelayMs, onError } = this.#options;
    const counts = !isKind(thrown, "unavailable");
    const attempt = (task.run.failed_attempts ?? 0) + (counts ? 1 : 0);
    const last = permanent || (counts && attempt >= maxAttempts);
    const error = failureText(messageOf(thrown));
    onError(new AttemptError(task.runId, attempt, last, error, thrown));
    if (last) return await task.endWith((c, run, fence, options) => c.failRun(run, fence, error, options));
    const delayMs = Math.min(retryDelayMs * 2 ** Math.min(Math.max(attempt - 1, 0), 32), 3_600_000);
    await task.endWith((c, run, fence, options) => c.releaseRun(run, fence, { ...options, failed: { error, attempt, delayMs } }));
  }

  /** Renews the lease, and aborts the task's signal when the run was cancelled or the lease is lost. */
  async #renewLease(task: Task, signal: AbortSignal): Promise<void> {
    const { leaseMs, heartbeatMs, onError } = this.#options;
    let pause = heartbeatMs;
    for (;;) {
      try {
        await sleep(pause, signal);
      } catch {
        return;
      }
      const sent = now();
      pause = heartbeatMs;
      const call = new AbortController();
      const stop = () => call.abort(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      // Not AbortSignal.timeout: Node may collect one inside of AbortSignal.any before it fires, and the lease would be outlived.
      const timer = setTimeout(() => call.abort(new HoldpointError(["unavailable"], "the lease was not renewed in time")), Math.max(0, task.expires - sent));
      try {
        const beat = await this.#patient.heartbeat(task.runId, { fence: task.fence, lease_ms: leaseMs }, { signal: call.signal });
        if (signal.aborted || task.ended) return;
        if (beat.cancel_requested) return task.stop(cancelledError());
        task.expires = sent + leaseMs;
      } catch (failure) {
        if (signal.aborted || task.ended) return;
        if (task.ending && now() < task.expires) continue; // the task's own call may have ended the lease
        if (isKind(failure, "lease_lost")) return task.stop(failure);
        if (isKind(failure, "not_found") || isKind(failure, "run_state")) {
          return task.stop(new HoldpointError(["lease_lost"], "the run is no longer there to be worked on", { cause: failure }));
        }
        onError(ofRun(task.runId, "lease was not renewed", failure));
        if (now() >= task.expires) {
          // Another worker may have claimed the run.
          return task.stop(new HoldpointError(["lease_lost"], "the lease could not be renewed in time", { cause: failure }));
        }
        pause = Math.max(0, Math.min(heartbeatMs / 4, task.expires - now())); // the handler ends no later than the lease
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
      }
    }
  }
}

/** Returns onError for callers that must go on whatever it throws: the process would end, or a lease would no longer be renewed. */
function harmless(onError: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    // Nobody waits for the promise of an async one: a run would not end before it.
    new Promise((resolve) => resolve(onError(error))).catch((thrown) => console.error("onError failed:", thrown, "It was given:", error));
  };
}

/** Whether the service refused the call for good, or it could not be made at all. */
function isRefusal(failure: unknown): boolean {
  if (isUnanswered(failure)) return false;
  if (failure instanceof ProblemError) return failure.status >= 400 && failure.status < 500;
  return isKind(failure, "invalid");
}

async function outcomeOf(handler: Handler, task: Task): Promise<{ output?: unknown; thrown?: unknown; failed: boolean }> {
  try {
    return { output: await handler(task), failed: false };
  } catch (thrown) {
    return { thrown, failed: true };
  }
}
