import type { Holdpoint } from "./client.js";
import { HoldpointError, invalid, isKind, isTransient } from "./errors.js";
import { type CallOptions, newID } from "./http.js";
import { now } from "./retry.js";
import { approvedInput } from "./approved.js";
import { Emitted } from "./emitted.js";
import { answers, asksTheSame, type Asked, type SettledRequest } from "./match.js";
import type {
  Answer, ApprovalRequest, AskParent, Claim, ClarificationAnswer, Redemption, Resolution, Resume, RunView, Settled, SettledApproval, SettledQuestion, Suspension,
  UserQuestionRequest,
} from "./types.js";

/** An approval to ask for. An `id` that is the same each time lets a handler begin from the top after a crash. */
export type ApprovalToAsk = Omit<ApprovalRequest, "id" | "tool_call_id"> & { id?: string; tool_call_id?: string };

/** What `Task.suspend` raises. Each request needs an `id`; a missing `tool_call_id` is set to it. */
export type SuspensionToRaise = Omit<Suspension, "hold" | "approvals"> & {
  approvals?: (Omit<ApprovalRequest, "tool_call_id"> & { tool_call_id?: string })[];
};

/** Bounds the calls that the task makes by itself while a handler waits for it. */
const ownCallMs = 10_000;

/** Bounds the call that releases a run when the worker stops. Its run is claimable when the lease lapses. */
const releaseMs = 5_000;

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

/**
 * One claimed run. Its methods may be called at once, until the handler has returned. Every
 * method that calls the service throws the errors of that call; after `lease_lost` and
 * `cancelled` the task's signal was aborted too. While the service cannot be reached, a call is
 * repeated for as long as the lease lasts. Then it throws `lease_lost`, and the run is left to the
 * next claim. `Input` is the type of the run's input, which is not checked.
 */
export class Task<Input = unknown> {
  readonly claim: Claim;
  readonly #client: Holdpoint;
  readonly #leaseMs: number;
  readonly #pollMs: number;
  readonly #controller = new AbortController();
  /** Aborted when the lease is lost or the run was cancelled; later than the handler's signal when the worker stops. */
  readonly #lease = new AbortController();
  /** The worker stops, so waits for people end at once. */
  #draining = false;
  /** @internal Such a wait ended, or was refused. */
  interrupted = false;
  /** Calls in flight that end the lease: meanwhile the refusal of another call does not mean that it was lost. */
  #ending = 0;
  /** The error of the waits that are left, once one of them succeeded or the handler has returned. */
  #ended: HoldpointError | undefined;
  /** What was decided, by request id. */
  readonly #settled = new Map<string, SettledRequest>();
  readonly #waiters = new Map<string, Waiter>();
  #attached = false;
  /** The number of the last decision that the shared poll saw. */
  #after = 0n;
  /** The numbers of decisions that were not returned to their caller yet. */
  readonly #uncollected = new Set<bigint>();
  #polling = false;
  #stopPoll: AbortController | undefined;
  readonly #joined = new Set<Promise<void>>();
  readonly #emitted: Emitted;

  /** @internal */
  constructor(client: Holdpoint, claim: Claim, times: { leaseMs: number; pollMs: number }) {
    this.#client = client;
    this.claim = claim;
    this.#leaseMs = times.leaseMs;
    this.#pollMs = times.pollMs;
    this.#emitted = new Emitted(claim.run.run_id, claim.checkpoint);
    this.#add(claim.resume);
  }

  /** Aborted when the handler must not go on; its reason is `lease_lost`, `cancelled` or `worker_stopped`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The run as it was claimed. */
  get run(): RunView {
    return this.claim.run;
  }

  get runId(): string {
    return this.claim.run.run_id;
  }

  get sessionId(): string {
    return this.claim.run.session_id;
  }

  /** Counts the claims since the last suspension, from 1. */
  get attempt(): number {
    return this.claim.attempt;
  }

  /** The fence of the lease, for calls on the client. */
  get fence(): string {
    return this.claim.lease.fence;
  }

  get input(): Input {
    return this.claim.input as Input;
  }

  /** The newest checkpoint as it was claimed; undefined when there was none. */
  get checkpoint(): unknown {
    return this.claim.checkpoint;
  }

  /** What was settled since the run was suspended, or since its last checkpoint. */
  get resume(): Resume | undefined {
    return this.claim.resume;
  }

  /** @internal Whether a call of this task ended the lease. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** @internal Whether the lease has ended, or may have, by a call of this task. */
  get ending(): boolean {
    return this.ended || this.#ending > 0;
  }

  /** @internal Why the lease is not this task's any more; undefined while it is. */
  get lost(): unknown {
    return this.#lease.signal.reason;
  }

  /** @internal Ends the handler and the calls that go on after it. */
  stop(reason: unknown): void {
    this.#lease.abort(reason);
    this.stopHandler(reason);
  }

  /** @internal Ends the handler. */
  stopHandler(reason: unknown): void {
    this.#controller.abort(reason);
    this.#endWaits(reason);
  }

  /** @internal Ends the waits for people. Their requests stay open for the next worker that claims the run. */
  drain(): void {
    this.#draining = true;
    if (this.#waiters.size > 0) this.interrupted = true;
    this.#endWaits(stoppedError());
  }

  /**
   * Asks for approval and waits in place until it is settled; several callers may do so at
   * once. Only the behavior `allow` allows anything, and then `updated_input`, when there is
   * one, replaces the input.
   *
   * A request with this id that was settled before, or is open, in this run is not raised
   * again: its decision is returned. The tool and the input must be the same, else
   * `id_conflict`. When the signal given is aborted the request is withdrawn; when the task's
   * is, it stays open for the next worker that claims the run. It also stays open when the worker
   * stops: then the wait ends at once with `worker_stopped`.
   */
  async approve(request: ApprovalToAsk, options: CallOptions = {}): Promise<Resolution> {
    const id = request.id || newID("approval");
    const settled = await this.#await({ approval: { ...request, id, tool_call_id: request.tool_call_id || id } }, options.signal);
    return (settled as SettledApproval).resolution;
  }

  /**
   * Asks for approval and waits in place, like `approve`, and returns the input that may run, with
   * the approver's edits. Throws a `NotAllowedError` if the approval was denied or has expired; a
   * handler that lets it through fails the run without a retry.
   */
  async approveInput<T = Input>(request: ApprovalToAsk, options: CallOptions = {}): Promise<T> {
    const id = request.id || newID("approval");
    const settled = await this.#await({ approval: { ...request, id, tool_call_id: request.tool_call_id || id } }, options.signal);
    return approvedInput(settled as SettledApproval) as T;
  }

  /** Asks a question and waits in place until it is settled, as `approve` does. A question that expires ends its run. */
  async ask(request: UserQuestionRequest, options: CallOptions = {}): Promise<Answer> {
    const id = request.id || newID("question");
    const settled = await this.#await({ question: { ...request, id, tool_call_id: request.tool_call_id || id } }, options.signal);
    return (settled as SettledQuestion).resolution;
  }

  /**
   * Raises requests, ends the lease and throws an error that is `suspended`, which the handler
   * lets through. The handler is called again once everything is settled. `approved` returns the
   * input of an approval that may run.
   *
   * When everything that it asks for was settled before, by these same requests with these same
   * ids, or is settled at once by standing rules, it returns the decisions instead. So a
   * handler may begin from the top every time.
   */
  async suspend(raised: SuspensionToRaise, options: CallOptions = {}): Promise<Resume> {
    if ("hold" in raised && raised.hold) throw invalid("to wait with the lease, use approve and ask");
    const suspension = withToolCalls(raised);
    const known = this.#settledBefore(suspension);
    if (known) return known;
    const settledAfter = suspension.settled_after ?? this.#included();
    const sent = suspension.checkpoint !== undefined && settledAfter !== undefined ? { ...suspension, settled_after: settledAfter } : suspension;
    try {
      const reply = await this.#endLease(suspendedError(), async () => {
        const reply = await this.#client.suspend(this.runId, this.fence, sent, this.#with(options));
        // Without a lease the run is claimable again, whatever was settled at once.
        return { value: reply, ended: !reply.resume || !reply.run.lease };
      });
      if (!reply.resume || !reply.run.lease) throw suspendedError();
      this.#add(reply.resume);
      return reply.resume;
    } catch (failure) {
      if (!isKind(failure, "id_conflict")) throw failure;
      await this.#readHistory();
      const history = this.#settledBefore(suspension);
      if (history) return history;
      throw failure;
    }
  }

  /**
   * Asks the parent's session. With `park` it ends the lease and throws an error that is
   * `suspended`; the handler is called again once there is an answer, and then the same call
   * returns it. Without, it returns undefined, and the answer comes into the session's mailbox.
   */
  async askParent(body: Omit<AskParent, "fence">, options: CallOptions = {}): Promise<ClarificationAnswer | undefined> {
    if (!body.park) {
      await this.#calling(() => this.#client.askParent(this.runId, this.fence, body, this.#with(options)));
      return undefined;
    }
    const toolCall = body.request.tool_call_id;
    const id = body.request.id || (toolCall ? `question-request-${toolCall}` : "");
    if (!id) throw invalid("a question that the run is parked for needs an id");
    const request = { ...body.request, id };
    if (this.claim.resume?.clarification?.request_id === id) return await this.#answered(request);
    try {
      await this.#endLease(suspendedError(), async () => {
        const reply = await this.#client.askParent(this.runId, this.fence, { ...body, request }, this.#with(options));
        if (!reply.run.lease) return { value: undefined, ended: true };
        return { value: undefined, ended: false };
      });
    } catch (failure) {
      if (!isKind(failure, "id_conflict")) throw failure;
      // It may be the same question with another checkpoint.
      await this.#readHistory();
      if (!this.#settled.has(id)) throw failure;
    }
    if (this.#ended) throw suspendedError();
    return await this.#answered(request);
  }

  async #answered(request: UserQuestionRequest & { id: string }): Promise<ClarificationAnswer> {
    await this.#readHistory();
    const settled = this.#settled.get(request.id);
    if (!settled) throw new Error(`question ${request.id} is neither open nor settled`);
    answers(settled, { question: request });
    const { request_id, declined, summary, answers: labelled, justification, value, runtime_payload } = (settled as SettledQuestion).resolution;
    return {
      request_id, declined, summary, answers: labelled, justification,
      ...(value === undefined ? {} : { value }), ...(runtime_payload === undefined ? {} : { runtime_payload }),
    };
  }

  /**
   * Redeems the grant of an approval that `approve` or `resume` returned, just before the task
   * does what was approved; `input` is what is about to run. Throws `grant_redeemed` also when
   * the claim shows that a worker before was about to: find out what ran.
   */
  async redeemGrant(resolution: Resolution, input: unknown, options: CallOptions = {}): Promise<Redemption> {
    const { grant } = resolution;
    if (typeof grant === "string") return await this.#calling(() => this.#client.redeemGrant(grant, input, this.#with(options)));
    if (grant?.redeemed_at_ms !== undefined) throw new HoldpointError(["grant_redeemed"], `it was redeemed before, under fence ${grant.fence}`);
    throw new HoldpointError(["invalid_grant"], `request ${resolution.request_id} was ${resolution.outcome} and has no grant`);
  }

  /**
   * Stores a checkpoint, which a later claim returns. It counts as including the decisions that were returned before.
   * `null` and `undefined` are not checkpoints: they only renew the lease, and the stored checkpoint stays.
   */
  async saveCheckpoint(checkpoint: unknown, options: CallOptions = {}): Promise<void> {
    checkpoint ??= undefined;
    const after = checkpoint === undefined ? undefined : this.#included();
    const beat = await this.#calling(() =>
      this.#client.heartbeat(
        this.runId,
        { fence: this.fence, lease_ms: this.#leaseMs, checkpoint, ...(after === undefined ? {} : { settled_after: after }) },
        this.#with(options),
      ));
    if (checkpoint !== undefined) this.#emitted.checkpointed(checkpoint);
    if (!beat.cancel_requested) return;
    this.stop(cancelledError());
    throw this.signal.reason;
  }

  /** Ends the run with an output. Open requests are recorded expired. */
  async complete(output?: unknown, options: CallOptions = {}): Promise<void> {
    await this.endWith((client, run, fence, lease) => client.completeRun(run, fence, jsonOrNone(output), options.signal ? this.#with(options) : lease));
  }

  /** Ends the run with an error text. Open requests are recorded expired. */
  async fail(message: string, options: CallOptions = {}): Promise<void> {
    await this.endWith((client, run, fence, lease) => client.failRun(run, fence, failureText(message), options.signal ? this.#with(options) : lease));
  }

  /**
   * Appends events to the session's log. They are appended once, even if the call is repeated
   * because its reply was lost, and even if the handler starts from the top again: the n-th call with
   * the same events since the same checkpoint appends nothing if an earlier claim of the run has
   * appended them, within the time that the service remembers idempotency keys. To append equal
   * events in each claim, add a member that differs, such as `fence`.
   */
  async emit(...events: { type: string; [member: string]: unknown }[]): Promise<void> {
    if (events.length === 0) return;
    const idempotencyKey = await this.#emitted.key(events);
    await this.#calling(() => this.#client.appendOfTask(this.runId, this.fence, events, { ...this.#with({}), idempotencyKey }));
  }

  /** Appends a piece of output, once, as `emit` does. The run and the session then show it. */
  async output(content: string): Promise<void> {
    await this.emit({ type: "output", content });
  }

  /** @internal Makes a call that ends the lease when it succeeds. It is repeated for as long as the lease lasts. */
  async endWith(call: (client: Holdpoint, runId: string, fence: string, options: CallOptions) => Promise<unknown>): Promise<void> {
    const options = { signal: this.#lease.signal };
    await this.#endLease(endedError(), async () => ({ value: await call(this.#client, this.runId, this.fence, options), ended: true }));
  }

  /** @internal Gives the run back because the worker stops. */
  async release(): Promise<void> {
    await this.endWith((client, run, fence, options) => client.releaseRun(run, fence, { signal: both(options.signal, AbortSignal.timeout(releaseMs)) }));
  }

  /** @internal Ends the waits that the handler left behind, and waits for what the task started. */
  async close(): Promise<void> {
    this.#ended ??= endedError();
    this.#endWaits(this.#ended);
    this.stop(this.#ended);
    await Promise.all(this.#joined);
  }

  #with(options: CallOptions): CallOptions {
    return { signal: options.signal ? both(options.signal, this.#lease.signal) : this.signal };
  }

  async #calling<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (failure) {
      throw await this.#refused(failure);
    }
  }

  async #endLease<T>(reason: HoldpointError, call: () => Promise<{ value: T; ended: boolean }>): Promise<T> {
    this.#ending++;
    try {
      const { value, ended } = await call();
      this.#ending--;
      if (ended && !this.#ended) {
        this.#ended = reason;
        this.#endWaits(reason);
      }
      return value;
    } catch (failure) {
      this.#ending--;
      throw await this.#refused(failure);
    }
  }

  /**
   * Returns what a refusal means. When the lease is lost it aborts the signal, and asks by a
   * heartbeat whether the run was cancelled: every other call on a cancelled run is refused
   * with lease_lost.
   */
  async #refused(failure: unknown): Promise<unknown> {
    if (!isKind(failure, "lease_lost") || this.ending || this.#lease.signal.aborted) return failure;
    let reason = failure;
    try {
      const beat = await this.#client.heartbeat(this.runId, { fence: this.fence, lease_ms: this.#leaseMs }, { signal: AbortSignal.timeout(ownCallMs) });
      if (beat.cancel_requested) reason = cancelledError(failure);
    } catch {
      // It stays a lost lease.
    }
    this.stop(reason);
    return reason;
  }

  // Waiting in place

  async #await(asked: Asked, signal: AbortSignal | undefined): Promise<SettledRequest> {
    const id = idOf(asked);
    const known = this.#settled.get(id);
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
      return answers(settled, asked);
    } catch (failure) {
      waiter.waiting--;
      if (signal?.aborted && !waiter.over && waiter.waiting === 0) await this.#withdraw(waiter);
      throw failure;
    } finally {
      if (waiter.over) this.#uncollected.delete(waiter.number);
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
      const reply = await this.#client.suspend(this.runId, this.fence, suspension, { signal: this.signal });
      this.#add(reply.resume);
    } catch (failure) {
      try {
        if (!isKind(failure, "id_conflict")) throw await this.#refused(failure);
        await this.#adopt(waiter.asked, failure);
      } catch (still) {
        return this.#finishWait(waiter, () => waiter.reject(still));
      }
    }
    waiter.raised = true;
    const known = this.#settled.get(id);
    if (known) return this.#finishWait(waiter, () => waiter.resolve(known));
    if (this.#waiters.get(id) === waiter) this.#startPoll();
    else if (!waiter.over) await this.#withdrawRaised(waiter); // every caller gave up meanwhile
  }

  /** Finds a request that an earlier attempt raised: it is open, or its decision is recorded. */
  async #adopt(asked: Asked, conflict: unknown): Promise<void> {
    const run = await this.#client.getRun(this.runId, { signal: this.signal });
    for (const approval of run.pending_approvals ?? []) if (approval.id === idOf(asked)) return asksTheSame({ approval }, asked);
    for (const question of run.pending_questions ?? []) {
      if (question.id === idOf(asked)) return asksTheSame({ question: { ...question, id: question.id } }, asked);
    }
    await this.#readHistory();
    if (!this.#settled.has(idOf(asked))) throw conflict;
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
      await this.#client.withdraw(this.runId, idOf(waiter.asked), this.fence, { reason: "the worker no longer waits for it", signal: limit });
    } catch (failure) {
      await this.#refused(failure);
    }
  }

  #startPoll(): void {
    if (this.#polling || this.#whyEnded() !== undefined) return;
    this.#polling = true;
    this.#join(this.#poll());
  }

  /** Long-polls for what was settled, for all waiters at once, while there are some. */
  async #poll(): Promise<void> {
    const pauses = this.#client.transport.pauses();
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
        const settled = await this.#client.awaitSettled(this.runId, this.fence, String(this.#after), this.#pollMs, { signal: stop.signal });
        this.#record(settled);
        if (settled.open === 0 && settled.settled.length === 0) {
          const vanished = new Error("the request is neither open nor settled");
          for (const waiter of before) this.#finishWait(waiter, () => waiter.reject(vanished));
        }
        if (settled.cancel_requested) this.stop(cancelledError());
        if (settled.settled.length > 0) pauses.reset();
        else await pauses.afterHeld(asked, this.#pollMs, stop.signal);
      } catch (failure) {
        if (stop.signal.aborted || this.ended) continue;
        if (isTransient(failure) || this.ending) {
          // While the task's own call may have ended the lease, that call ends the waits.
          await pauses.afterAnyway(failure, this.signal).catch(() => {});
          continue;
        }
        this.#endWaits(await this.#refused(failure));
      }
    }
  }

  #raisedWaiters(): number {
    return [...this.#waiters.values()].filter((waiter) => waiter.raised).length;
  }

  /** Stores decisions and ends the waits for them. */
  #record(reply: Settled): void {
    for (const settled of reply.settled as unknown as (SettledRequest & { settled_number?: string })[]) {
      this.#settled.set(settled.request.id!, settled);
      const waiter = this.#waiters.get(settled.request.id!);
      if (!waiter) continue;
      waiter.number = BigInt(settled.settled_number ?? "0");
      this.#uncollected.add(waiter.number);
      this.#finishWait(waiter, () => waiter.resolve(settled));
    }
    const after = BigInt(reply.after);
    if (after > this.#after) this.#after = after;
  }

  /** Reads all decisions of the run, also those of earlier suspensions. */
  async #readHistory(): Promise<void> {
    this.#record(await this.#calling(() => this.#client.awaitSettled(this.runId, this.fence, "0", 0, { signal: this.signal })));
  }

  #finishWait(waiter: Waiter, end: () => void): void {
    if (waiter.over) return;
    waiter.over = true;
    if (this.#waiters.get(idOf(waiter.asked)) === waiter) this.#waiters.delete(idOf(waiter.asked));
    end();
  }

  #endWaits(reason: unknown): void {
    for (const waiter of [...this.#waiters.values()]) this.#finishWait(waiter, () => waiter.reject(reason));
    this.#stopPoll?.abort();
  }

  #whyEnded(): unknown {
    if (this.signal.aborted) return this.signal.reason;
    return this.#ended ?? (this.#draining ? stoppedError() : undefined);
  }

  #add(resume: Resume | undefined): void {
    for (const settled of [...(resume?.approvals ?? []), ...(resume?.questions ?? [])]) this.#settled.set(settled.request.id!, settled);
  }

  /** The last decision that a checkpoint stored now includes: all before the first that no caller has. */
  #included(): string | undefined {
    if (!this.#attached) return undefined;
    let taken = this.#after;
    for (const number of this.#uncollected) if (number - 1n < taken) taken = number - 1n;
    return String(taken);
  }

  /** The decisions that a suspension asks for, when all of them are recorded. */
  #settledBefore(suspension: Suspension): Resume | undefined {
    const resume: Resume = { suspension_id: suspension.suspension_id ?? "", approvals: [], questions: [] };
    for (const approval of suspension.approvals ?? []) {
      const settled = this.#settled.get(approval.id);
      if (!settled) return undefined;
      resume.approvals.push(answers(settled, { approval }) as SettledApproval);
    }
    for (const question of suspension.questions ?? []) {
      const settled = this.#settled.get(question.id ?? "");
      if (!settled) return undefined;
      resume.questions.push(answers(settled, { question: { ...question, id: question.id! } }) as SettledQuestion);
    }
    return resume.approvals.length + resume.questions.length > 0 ? resume : undefined;
  }
}

function withToolCalls(raised: SuspensionToRaise): Omit<Suspension, "hold"> {
  return {
    ...raised,
    ...(raised.approvals ? { approvals: raised.approvals.map((one) => ({ ...one, tool_call_id: one.tool_call_id || one.id })) } : {}),
    ...(raised.questions ? { questions: raised.questions.map((one) => ({ ...one, tool_call_id: one.tool_call_id || one.id })) } : {}),
  } as Omit<Suspension, "hold">;
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

function both(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one ? AbortSignal.any([one, other]) : other;
}

/** @internal */
export function stoppedError(): HoldpointError {
  return new HoldpointError(["worker_stopped"], "the worker is stopping");
}

function suspendedError(): HoldpointError {
  return new HoldpointError(["suspended"], "the run is suspended; let this error through");
}

export function cancelledError(cause?: unknown): HoldpointError {
  return new HoldpointError(["cancelled"], "the run was cancelled", { cause });
}

function endedError(): HoldpointError {
  return new HoldpointError(["run_state"], "the handler has ended the run");
}

/** @internal Returns an output. JSON.stringify would leave out a function and a symbol, as if there were no output. */
export function jsonOrNone(output: unknown): unknown {
  if (typeof output === "function" || typeof output === "symbol") throw invalid(`a ${typeof output} has no JSON form`);
  return output;
}

/** Returns a text that the service accepts: whole characters without control characters, at most 16 KiB, not empty. */
export function failureText(text: string): string {
  let cut = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "").replace(/\p{Surrogate}/gu, "\uFFFD");
  const encoded = new TextEncoder().encode(cut);
  if (encoded.length > 16384) cut = new TextDecoder().decode(encoded.subarray(0, 16384)).replace(/\uFFFD+$/, "");
  return cut || "failed without a text";
}
