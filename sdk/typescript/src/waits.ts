import { cancelledError, stoppedError } from "./ended.js";
import { isKind, isTransient } from "./errors.js";
import type { CallOptions } from "./http.js";
import { type Lease, both, ownCallMs } from "./lease.js";
import { answers, asksTheSame, type Asked, type SettledRequest, showsTheSame } from "./match.js";
import { now } from "./retry.js";
import type { Resume, Settled, SettledApproval, SettledQuestion, Suspension } from "./types.js";

/** A request that callers of the handler wait for. */
interface Waiter {
  asked: Asked;
  /** When the last caller gives up, the request is withdrawn. */
  waiting: number;
  /** The service has the request. */
  raised: boolean;
  done: Promise<SettledRequest>;
  resolve(settled: SettledRequest): void;
  reject(reason: unknown): void;
  over: boolean;
  number: bigint;
}

/** What a task knows of decisions, and its waits in place for more of them: one long-poll serves all. */
export class Waits {
  readonly #lease: Lease;
  readonly #pollMs: number;
  /** The worker stops, so waits for people end at once. */
  #draining = false;
  /** A wait ended, or was refused, because the worker stops. */
  interrupted = false;
  /** What was decided, by request id. */
  readonly settled = new Map<string, SettledRequest>();
  readonly #waiters = new Map<string, Waiter>();
  #attached = false;
  /** The number of the last decision that the shared poll saw. */
  #after = 0n;
  /** The numbers of decisions that were not returned to their caller yet. */
  readonly #uncollected = new Set<bigint>();
  /** Decisions from replies to suspensions, by request id, until a page has shown their numbers. A waiter stands for one that its caller does not have yet. */
  readonly #replied = new Map<string, Waiter | undefined>();
  /** Counts checkpoints for which these numbers are being read. They do not include the decisions that were returned meanwhile. */
  #catchingUp = 0;
  #returned: Waiter[] = [];
  #polling = false;
  #stopPoll: AbortController | undefined;
  readonly #joined = new Set<Promise<void>>();

  constructor(lease: Lease, pollMs: number) {
    this.#lease = lease;
    this.#pollMs = pollMs;
  }

  /** Ends the waits. Their requests stay open for the next worker that claims the run. */
  drain(): void {
    this.#draining = true;
    if (this.#waiters.size > 0) this.interrupted = true;
    this.end(stoppedError());
  }

  /** Resolves when everything that the waits started is over. */
  async over(): Promise<void> {
    await Promise.all(this.#joined);
  }

  /** Waits for the decision about a request, which is raised unless it is known or open. */
  async until(asked: Asked, signal: AbortSignal | undefined): Promise<SettledRequest> {
    this.#lease.requireHeld();
    const id = idOf(asked);
    const known = this.settled.get(id);
    if (known) return answers(known, asked);
    signal?.throwIfAborted();
    const over = this.#whyEnded();
    if (over !== undefined) {
      if (this.#draining) this.interrupted = true;
      throw over;
    }
    let waiter = this.#waiters.get(id);
    if (waiter) {
      asksTheSame(waiter.asked, asked);
    } else {
      waiter = newWaiter(asked);
      this.#waiters.set(id, waiter);
      this.#attached = true;
      this.#join(this.#raise(waiter));
    }
    waiter.waiting++;
    try {
      const settled = await (signal ? unlessAborted(waiter.done, signal) : waiter.done);
      if (settled.resolution.outcome !== "expired") this.#lease.requireHeld(); // a question that expires ends its run
      return answers(settled, asked);
    } catch (failure) {
      waiter.waiting--;
      if (signal?.aborted && !waiter.over && waiter.waiting === 0) await this.#withdraw(waiter);
      throw failure;
    } finally {
      if (waiter.over && this.#catchingUp > 0) this.#returned.push(waiter);
      else if (waiter.over) this.#setReturned(waiter);
    }
  }

  #join(work: Promise<void>): void {
    const joined: Promise<void> = work.finally(() => this.#joined.delete(joined));
    this.#joined.add(joined);
  }

  /** Raises a request, or finds the one of an earlier attempt. */
  async #raise(waiter: Waiter): Promise<void> {
    const id = idOf(waiter.asked);
    const suspension: Suspension = waiter.asked.approval
      ? { approvals: [waiter.asked.approval], hold: true }
      : { questions: [waiter.asked.question!], hold: true };
    try {
      const reply = await this.#lease.client.suspend(this.#lease.runId, this.#lease.fence, suspension, { signal: this.#lease.handler });
      this.addReply(reply.resume, this.#waiters.get(id));
    } catch (failure) {
      try {
        if (!isKind(failure, "id_conflict")) throw await this.#lease.refused(failure);
        await this.#adopt(waiter.asked, failure);
      } catch (still) {
        return this.#finishWait(waiter, () => waiter.reject(still));
      }
    }
    waiter.raised = true;
    const known = this.settled.get(id);
    if (known) return this.#finishWait(waiter, () => waiter.resolve(known));
    if (this.#waiters.get(id) === waiter) this.#startPoll();
    else if (!waiter.over) await this.#withdrawRaised(waiter); // every caller gave up meanwhile
  }

  /** Finds a request that an earlier attempt raised: it is open, or its decision is recorded. */
  async #adopt(asked: Asked, conflict: unknown): Promise<void> {
    const run = await this.#lease.client.getRun(this.#lease.runId, { signal: this.#lease.handler });
    for (const approval of run.pending_approvals ?? []) if (approval.id === idOf(asked)) return showsTheSame({ approval }, asked);
    for (const question of run.pending_questions ?? []) {
      if (question.id === idOf(asked)) return asksTheSame({ question: { ...question, id: question.id } }, asked);
    }
    await this.readHistory();
    if (!this.settled.has(idOf(asked))) throw conflict;
  }

  async #withdraw(waiter: Waiter): Promise<void> {
    if (this.#whyEnded() !== undefined) return;
    this.#waiters.delete(idOf(waiter.asked));
    if (this.#raisedWaiters() === 0) this.#stopPoll?.abort();
    if (waiter.raised) await this.#withdrawRaised(waiter);
  }

  /** When it was settled just before, that decision stays recorded. */
  async #withdrawRaised(waiter: Waiter): Promise<void> {
    const limit = both(this.#lease.signal, AbortSignal.timeout(ownCallMs));
    try {
      await this.#lease.client.withdraw(this.#lease.runId, idOf(waiter.asked), this.#lease.fence, { reason: "the worker no longer waits for it", signal: limit });
    } catch (failure) {
      await this.#lease.refused(failure);
    }
  }

  #startPoll(): void {
    if (this.#polling || this.#whyEnded() !== undefined) return;
    this.#polling = true;
    this.#join(this.#poll());
  }

  /** Long-polls for what was settled, for all waiters at once, while there are some. */
  async #poll(): Promise<void> {
    const pauses = this.#lease.client.transport.pauses();
    for (;;) {
      if (this.#raisedWaiters() === 0 || this.#whyEnded() !== undefined) {
        this.#polling = false;
        return;
      }
      const before = [...this.#waiters.values()].filter((waiter) => waiter.raised);
      const stop = new AbortController();
      this.#stopPoll = stop;
      const asked = now();
      try {
        const settled = await this.#lease.client.awaitSettled(this.#lease.runId, this.#lease.fence, String(this.#after), this.#pollMs, { signal: stop.signal });
        this.#record(settled);
        if (settled.open === 0 && settled.settled.length === 0) {
          const vanished = new Error("the request is neither open nor settled");
          for (const waiter of before) this.#finishWait(waiter, () => waiter.reject(vanished));
        }
        if (settled.settled.length > 0) pauses.reset();
        else await pauses.afterHeld(asked, this.#pollMs, stop.signal);
      } catch (failure) {
        if (stop.signal.aborted || this.#lease.ended) continue;
        if (isTransient(failure) || this.#lease.ending) {
          // While the task's own call may have ended the lease, that call ends the waits.
          await pauses.afterAnyway(failure, this.#lease.handler).catch(() => {});
          continue;
        }
        this.end(await this.#lease.refused(failure));
      }
    }
  }

  #raisedWaiters(): number {
    return [...this.#waiters.values()].filter((waiter) => waiter.raised).length;
  }

  /** Stores decisions and ends the waits for them. */
  #record(reply: Settled): void {
    for (const settled of reply.settled as unknown as (SettledRequest & { settled_number?: string })[]) {
      this.settled.set(settled.request.id!, settled);
      const waiter = this.#waiters.get(settled.request.id!) ?? this.#replied.get(settled.request.id!);
      this.#replied.delete(settled.request.id!);
      if (!waiter) continue;
      waiter.number = BigInt(settled.settled_number ?? "0");
      this.#uncollected.add(waiter.number);
      this.#finishWait(waiter, () => waiter.resolve(settled));
    }
    const after = BigInt(reply.after);
    if (after > this.#after) this.#after = after;
    if (reply.cancel_requested) this.#lease.stop(cancelledError());
  }

  /** Reads all decisions of the run, also those of earlier suspensions. */
  async readHistory(): Promise<void> {
    await this.#readSettled(0n, { signal: this.#lease.handler });
  }

  /** Reads the decisions after a number. */
  async #readSettled(number: bigint, options: CallOptions): Promise<void> {
    for (let after = String(number); ; ) {
      const page = await this.#lease.calling(() => this.#lease.client.awaitSettled(this.#lease.runId, this.#lease.fence, after, 0, options));
      this.#record(page);
      // Open counts requests that are still open, and one more if there are decisions beyond this page.
      if (page.settled.length === 0 || page.open === 0) return;
      after = page.after;
    }
  }

  #finishWait(waiter: Waiter, end: () => void): void {
    if (waiter.over) return;
    waiter.over = true;
    if (this.#waiters.get(idOf(waiter.asked)) === waiter) this.#waiters.delete(idOf(waiter.asked));
    end();
  }

  /** Ends all waits. */
  end(reason: unknown): void {
    for (const waiter of [...this.#waiters.values()]) this.#finishWait(waiter, () => waiter.reject(reason));
    this.#stopPoll?.abort();
  }

  #whyEnded(): unknown {
    if (this.#lease.handler.aborted) return this.#lease.handler.reason;
    return this.#lease.ended ?? (this.#draining ? stoppedError() : undefined);
  }

  #setReturned(waiter: Waiter): void {
    this.#uncollected.delete(waiter.number);
    if (this.#replied.get(idOf(waiter.asked)) === waiter) this.#replied.set(idOf(waiter.asked), undefined);
  }

  /** Records the decisions of a reply to a suspension, for the waiter of its request. */
  addReply(resume: Resume | undefined, waiter?: Waiter): void {
    for (const { request } of [...(resume?.approvals ?? []), ...(resume?.questions ?? [])]) {
      if (!this.settled.has(request.id!) || this.#replied.has(request.id!)) this.#replied.set(request.id!, waiter);
    }
    this.add(resume);
  }

  /** Records decisions that came with a claim. */
  add(resume: Resume | undefined): void {
    for (const settled of [...(resume?.approvals ?? []), ...(resume?.questions ?? [])]) this.settled.set(settled.request.id!, settled);
  }

  /**
   * The last decision that a checkpoint stored now includes: all before the first that no caller has. It reads the numbers of
   * decisions that came without them: no poll runs if rules decide every request.
   */
  async included(options: CallOptions): Promise<string | undefined> {
    if (!this.#attached) return undefined;
    // After the end of all waits a page may have decisions that no caller gets.
    if (this.#replied.size === 0 || this.#whyEnded() !== undefined) return this.#taken();
    this.#catchingUp++;
    try {
      await this.#readSettled(this.#after, options);
      return this.#taken();
    } finally {
      if (--this.#catchingUp === 0) for (const waiter of this.#returned.splice(0)) this.#setReturned(waiter);
    }
  }

  #taken(): string {
    let taken = this.#after;
    for (const number of this.#uncollected) if (number - 1n < taken) taken = number - 1n;
    return String(taken);
  }

  /** The decisions that a suspension asks for, when all of them are recorded. */
  settledBefore(suspension: Suspension): Resume | undefined {
    this.#lease.requireHeld();
    return decisionsOn(suspension, this.settled);
  }
}

/** The decisions that a suspension asks for, when all of them are among these, by request id. */
export function decisionsOn(suspension: Suspension, all: ReadonlyMap<string, SettledRequest>): Resume | undefined {
  const resume: Resume = { suspension_id: suspension.suspension_id ?? "", approvals: [], questions: [] };
  for (const approval of suspension.approvals ?? []) {
    const settled = all.get(approval.id);
    if (!settled) return undefined;
    resume.approvals.push(answers(settled, { approval }) as SettledApproval);
  }
  for (const question of suspension.questions ?? []) {
    const settled = all.get(question.id || `question-request-${question.tool_call_id}`); // the service derives a missing id
    if (!settled) return undefined;
    resume.questions.push(answers(settled, { question: { ...question, id: question.id! } }) as SettledQuestion);
  }
  return resume.approvals.length + resume.questions.length > 0 ? resume : undefined;
}

/** The decisions of a Resume by request id. */
export function byRequest(resume: Resume): Map<string, SettledRequest> {
  return new Map<string, SettledRequest>([...resume.approvals, ...resume.questions].map((settled) => [settled.request.id!, settled]));
}

function idOf(asked: Asked): string {
  return (asked.approval ?? asked.question!).id;
}

function newWaiter(asked: Asked): Waiter {
  const waiter = { asked, waiting: 0, raised: false, over: false, number: 0n } as Waiter;
  waiter.done = new Promise((resolve, reject) => {
    waiter.resolve = resolve;
    waiter.reject = reject;
  });
  waiter.done.catch(() => {}); // the callers may all have given up
  return waiter;
}

/** Waits, or throws the signal's reason. It leaves no listener behind: the signal may outlive many waits. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
