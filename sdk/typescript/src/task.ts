import { approvedInput } from "./approved.js";
import type { Holdpoint } from "./client.js";
import { Emitted } from "./emitted.js";
import { cancelledError, endedError, failureText, jsonOrNone, suspendedError } from "./ended.js";
import { HoldpointError, invalid, isKind } from "./errors.js";
import { type CallOptions, newID } from "./http.js";
import { copied } from "./json.js";
import { Lease, both } from "./lease.js";
import { answers } from "./match.js";
import type {
  Answer, ApprovalRequest, AskParent, Claim, ClarificationAnswer, Redemption, Resolution, Resume, RunView, SettledApproval, SettledQuestion, Suspension,
  UserQuestionRequest,
} from "./types.js";
import { Waits, byRequest, decisionsOn } from "./waits.js";

/** An approval to ask for. An `id` that is the same each time lets a handler begin from the top after a crash. */
export type ApprovalToAsk = Omit<ApprovalRequest, "id" | "tool_call_id"> & { id?: string; tool_call_id?: string };

/** What `Task.suspend` raises. Each request needs an `id`; a missing `tool_call_id` is set to it. */
export type SuspensionToRaise = Omit<Suspension, "hold" | "approvals"> & {
  approvals?: (Omit<ApprovalRequest, "tool_call_id"> & { tool_call_id?: string })[];
};

/** Bounds the call that releases a run when the worker stops. Its run is claimable when the lease lapses. */
const releaseMs = 5_000;

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
  readonly #lease: Lease;
  readonly #waits: Waits;
  readonly #emitted: Emitted;

  /** @internal */
  constructor(client: Holdpoint, claim: Claim, times: { leaseMs: number; pollMs: number }) {
    this.#client = client;
    this.claim = claim;
    this.#lease = new Lease(client, claim, times.leaseMs);
    this.#waits = new Waits(this.#lease, times.pollMs);
    this.#lease.onOver = (reason) => this.#waits.end(reason);
    this.#emitted = new Emitted(claim.run, claim.checkpoint);
    this.#waits.add(claim.resume);
  }

  /** Aborted when the handler must not go on; its reason is `lease_lost`, `cancelled` or `worker_stopped`. */
  get signal(): AbortSignal {
    return this.#lease.handler;
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
    return this.#lease.ended !== undefined;
  }

  /** @internal When the lease ends by `now` unless it is renewed. */
  get expires(): number {
    return this.#lease.expires;
  }

  /** @internal */
  set expires(at: number) {
    this.#lease.expires = at;
  }

  /** @internal Whether the lease has ended, or may have, by a call of this task. */
  get ending(): boolean {
    return this.#lease.ending;
  }

  /** @internal Why the lease is not this task's any more; undefined while it is. */
  get lost(): unknown {
    return this.#lease.signal.reason;
  }

  /** @internal Whether a wait for a person ended, or was refused, because the worker stops. */
  get interrupted(): boolean {
    return this.#waits.interrupted;
  }

  /** @internal Ends the handler and the calls that go on after it. */
  stop(reason: unknown): void {
    this.#lease.stop(reason);
  }

  /** @internal Ends the handler. */
  stopHandler(reason: unknown): void {
    this.#lease.stopHandler(reason);
  }

  /** @internal Ends the waits for people. Their requests stay open for the next worker that claims the run. */
  drain(): void {
    this.#waits.drain();
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
   * stops: then the wait ends at once with `worker_stopped`. When the run was cancelled or the lease is lost it throws that, and
   * returns no decision, not even one that is known.
   */
  async approve(request: ApprovalToAsk, options: CallOptions = {}): Promise<Resolution> {
    return (await this.#decided(request, options)).resolution;
  }

  /**
   * Asks for approval and waits in place, like `approve`, and returns the input that may run, with
   * the approver's edits. Throws a `NotAllowedError` if the approval was denied or has expired; a
   * handler that lets it through fails the run without a retry.
   */
  async approveInput<T = Input>(request: ApprovalToAsk, options: CallOptions = {}): Promise<T> {
    return approvedInput(await this.#decided(request, options)) as T;
  }

  async #decided(request: ApprovalToAsk, options: CallOptions): Promise<SettledApproval> {
    return await this.#waits.until({ approval: named("approval", request) }, options.signal) as SettledApproval;
  }

  /** Asks a question and waits in place until it is settled, as `approve` does. A question that expires ends its run. */
  async ask(request: UserQuestionRequest, options: CallOptions = {}): Promise<Answer> {
    const settled = await this.#waits.until({ question: named("question", request) }, options.signal);
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
    const known = this.#waits.settledBefore(suspension);
    if (known) return known;
    const checkpoint = copied(jsonOrNone(suspension.checkpoint));
    let sent = suspension;
    if (checkpoint !== undefined) {
      sent = copied({ ...suspension, checkpoint })!;
      const settledAfter = suspension.settled_after ?? await this.#waits.included(this.#lease.with(options));
      if (settledAfter !== undefined) sent.settled_after = settledAfter;
    }
    try {
      const reply = await this.#lease.end(suspendedError(), async () => {
        const reply = await this.#client.suspend(this.runId, this.fence, sent, this.#lease.with(options));
        // Without a lease the run is claimable again, whatever was settled at once.
        return { value: reply, ended: !reply.resume || !reply.run.lease };
      });
      if (!reply.resume || !reply.run.lease) throw suspendedError();
      if (!decisionsOn(sent, byRequest(reply.resume))) throw new HoldpointError([], "the reply to the suspension lacks a decision about one of its requests");
      this.#waits.addReply(reply.resume);
      if (checkpoint != null) this.#emitted.checkpointed(checkpoint);
      return reply.resume;
    } catch (failure) {
      if (!isKind(failure, "id_conflict")) throw failure;
      await this.#waits.readHistory();
      const history = this.#waits.settledBefore(suspension);
      if (history) return history;
      throw failure;
    }
  }

  /**
   * Asks the parent's session. With `park` it ends the lease and throws an error that is
   * `suspended`; the handler is called again once there is an answer, and then the same call
   * returns it. Without, it returns undefined, and the answer comes into the session's mailbox.
   * While that mailbox is full it throws an error with the code `mailbox_full`.
   */
  async askParent(body: Omit<AskParent, "fence">, options: CallOptions = {}): Promise<ClarificationAnswer | undefined> {
    jsonOrNone(body.checkpoint);
    if (!body.park) {
      await this.#lease.calling(() => this.#client.askParent(this.runId, this.fence, body, this.#lease.with(options)));
      return undefined;
    }
    const toolCall = body.request.tool_call_id;
    const id = body.request.id || (toolCall ? `question-request-${toolCall}` : "");
    if (!id) throw invalid("a question that the run is parked for needs an id");
    const request = { ...body.request, id };
    if (this.claim.resume?.clarification?.request_id === id) return await this.#answered(request);
    try {
      await this.#lease.end(suspendedError(), async () => {
        const reply = await this.#client.askParent(this.runId, this.fence, { ...body, request }, this.#lease.with(options));
        return { value: undefined, ended: !reply.run.lease };
      });
    } catch (failure) {
      if (!isKind(failure, "id_conflict")) throw failure;
      // It may be the same question with another checkpoint.
      await this.#waits.readHistory();
      if (!this.#waits.settled.has(id)) throw failure;
    }
    if (this.ended) throw suspendedError();
    return await this.#answered(request);
  }

  async #answered(request: UserQuestionRequest & { id: string }): Promise<ClarificationAnswer> {
    await this.#waits.readHistory();
    const settled = this.#waits.settled.get(request.id);
    if (!settled) throw new Error(`question ${request.id} is neither open nor settled`);
    answers(settled, { question: request });
    const { request: { traceparent }, resolution } = settled as SettledQuestion;
    const { request_id, declined, summary, answers: labelled, justification, value, runtime_payload } = resolution;
    return {
      request_id, declined, summary, answers: labelled, justification, ...(traceparent === undefined ? {} : { traceparent }),
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
    if (typeof grant === "string") return await this.#lease.calling(() => this.#client.redeemGrant(grant, input, this.#lease.with(options)));
    if (grant?.redeemed_at_ms !== undefined) throw new HoldpointError(["grant_redeemed"], `it was redeemed before, under fence ${grant.fence}`);
    throw new HoldpointError(["invalid_grant"], `request ${resolution.request_id} was ${resolution.outcome} and has no grant`);
  }

  /**
   * Stores a checkpoint, which a later claim returns. It counts as including the decisions that were returned before.
   * `null` and `undefined` are not checkpoints: they only renew the lease, and the stored checkpoint stays.
   */
  async saveCheckpoint(checkpoint: unknown, options: CallOptions = {}): Promise<void> {
    const stored = copied(jsonOrNone(checkpoint)) ?? undefined;
    const after = stored === undefined ? undefined : await this.#waits.included(this.#lease.with(options));
    const beat = await this.#lease.calling(() =>
      this.#client.heartbeat(
        this.runId,
        { fence: this.fence, lease_ms: this.#lease.ms, checkpoint: stored, ...(after === undefined ? {} : { settled_after: after }) },
        this.#lease.with(options),
      ));
    if (stored !== undefined) this.#emitted.checkpointed(stored);
    if (!beat.cancel_requested) return;
    this.stop(cancelledError());
    throw this.signal.reason;
  }

  /** Ends the run with an output. Open requests are recorded expired. */
  async complete(output?: unknown, options: CallOptions = {}): Promise<void> {
    await this.endWith((client, run, fence, lease) => client.completeRun(run, fence, jsonOrNone(output), lease), options);
  }

  /** Ends the run with an error text. Open requests are recorded expired. */
  async fail(message: string, options: CallOptions = {}): Promise<void> {
    await this.endWith((client, run, fence, lease) => client.failRun(run, fence, failureText(message), lease), options);
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
    const given = copied(events)!;
    const idempotencyKey = await this.#emitted.key(given);
    await this.#lease.calling(() => this.#client.appendOfTask(this.runId, this.fence, given, { ...this.#lease.with({}), idempotencyKey }));
  }

  /** Appends a piece of output, once, as `emit` does. The run and the session then show it. */
  async output(content: string): Promise<void> {
    await this.emit({ type: "output", content });
  }

  /** @internal Makes a call that ends the lease when it succeeds. It is repeated for as long as the lease lasts. */
  async endWith(call: (client: Holdpoint, runId: string, fence: string, options: CallOptions) => Promise<unknown>, given: CallOptions = {}): Promise<void> {
    const options = given.signal ? this.#lease.with(given) : { signal: this.#lease.signal };
    await this.#lease.end(endedError(), async () => ({ value: await call(this.#client, this.runId, this.fence, options), ended: true }));
  }

  /** @internal Gives the run back because the worker stops. */
  async release(): Promise<void> {
    await this.endWith((client, run, fence, options) => client.releaseRun(run, fence, { signal: both(options.signal, AbortSignal.timeout(releaseMs)) }));
  }

  /** @internal Ends the waits that the handler left behind, and waits for what the task started. */
  async close(): Promise<void> {
    this.#lease.close(endedError());
    await this.#waits.over();
  }
}

/** Sets the ids that a request may leave out. */
function named<T extends { id?: string; tool_call_id?: string }>(kind: string, request: T): T & { id: string; tool_call_id: string } {
  const id = request.id || newID(kind);
  return { ...copied(request)!, id, tool_call_id: request.tool_call_id || id };
}

function withToolCalls(raised: SuspensionToRaise): Omit<Suspension, "hold"> {
  return {
    ...raised,
    ...(raised.approvals ? { approvals: raised.approvals.map((one) => ({ ...one, tool_call_id: one.tool_call_id || one.id })) } : {}),
    ...(raised.questions ? { questions: raised.questions.map((one) => ({ ...one, tool_call_id: one.tool_call_id || one.id })) } : {}),
  } as Omit<Suspension, "hold">;
}
