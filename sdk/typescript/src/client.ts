import { type Call, type CallOptions, type HoldpointOptions, type KeyedOptions, type Reply, type Repeatable, Transport, at, idUnlessKeyed, isUnanswered, keyOf, maxWaitMs, newID, randomUUID } from "./http.js";
import { appends } from "./appends.js";
import { Calls } from "./calls.js";
import { invalid, isKind, isTransient } from "./errors.js";
import { inputDigest } from "./grants.js";
import { type CreatedRun, type EventListOptions, type PendingListOptions, type Query, type RunResult, type SessionResult, events, page, pending, result, walk, walkEvents } from "./replies.js";
import { numberOf, type Snapshots, type StreamItem, type StreamOptions, stream } from "./stream.js";
import { now } from "./retry.js";
import * as doc from "./types.js";
import { isTerminal, isWaiting } from "./types.js";

export interface WaitOptions extends CallOptions {
  /** `terminal` (the default), or `decided`: the run does not wait for a person (any more). */
  until?: "decided" | "terminal";
}

/** What to decide about: what the lists, a run's view or an event of a stream shows. */
export interface ShownApproval {
  run_id: string;
  request: Pick<doc.ApprovalRequest, "id" | "handle" | "input_digest">;
}

export interface ShownQuestion {
  run_id?: string;
  request: Pick<doc.UserQuestionRequest, "id">;
}

export type Decision = Omit<doc.ApprovalResolution, "request_id" | "behavior" | "input_digest" | "handle">;

/**
 * Calls one holdpoint service. Bodies and replies are documents as they are on the wire, see
 * `openapi.yaml`; every call throws a `HoldpointError`, or the reason of its signal.
 */
export class Holdpoint extends Calls {
  /** @internal */
  readonly transport: Transport;

  constructor(options: HoldpointOptions) {
    super();
    this.transport = new Transport(options);
  }

  /** @internal Returns a client whose calls outlast an unavailable service; see `Transport.patiently`. */
  patiently(leaseMs: number): Holdpoint {
    const patient = new Holdpoint(this.transport.options);
    (patient as { transport: Transport }).transport = this.transport.patiently(leaseMs);
    return patient;
  }

  // Runs

  /** Makes a run. Without `run_id` a lost reply is made good by a key. */
  async createRun(body: doc.CreateRun, options: KeyedOptions = {}): Promise<CreatedRun> {
    return await this.#createRun("/v1/runs", body, options);
  }

  /** Makes a run by the session's route, which takes neither session_id, claim nor suspend. */
  async createSessionRun(sessionId: string, body: Omit<doc.CreateRun, "session_id" | "claim" | "suspend">, options: KeyedOptions = {}): Promise<CreatedRun> {
    return await this.#createRun(at("/v1/sessions", sessionId, "runs"), body, options);
  }

  async #createRun(path: string, body: doc.CreateRun, options: KeyedOptions): Promise<CreatedRun> {
    const needs = (reply: object) => ("run" in reply ? ["run", "lease"] : ["run_id", "status"]);
    const reply = await this.#post<doc.RunView | doc.Claim>(path, body, { ...options, idempotencyKey: keyOf(options, body, body.run_id) }, "always", needs);
    const created = { replayed: reply.replayed, existing: reply.status === 200 };
    if (!("run" in reply.value)) return { ...created, run: reply.value };
    const claim = reply.value;
    const held = claim.run.lease;
    // A repeated call shows the lease that it took the first time, which may have ended.
    const stillHeld = held && held.worker_id === claim.lease.worker_id && held.expires_at_ms === claim.lease.expires_at_ms;
    return { ...created, run: claim.run, ...(stillHeld ? { claim } : {}) };
  }

  /** Returns a run as soon as it is where `until` says, or as it is after the wait of at most 60 s. */
  async awaitRun(runId: string, waitMs: number, options: WaitOptions = {}): Promise<doc.RunView> {
    return await this.#get(at("/v1/runs", runId), { until: options.until ?? "terminal" }, options, waitMs, ["run_id"]);
  }

  /** Returns a run when it is where `until` says, however long that takes. It outlasts an unavailable service, or a proxy without one. */
  async waitRun(runId: string, options: WaitOptions = {}): Promise<doc.RunView> {
    const pauses = this.transport.pauses();
    // Before the first reply, a proxy's 404 may mean that the URL is wrong.
    let outlasts = isTransient;
    for (;;) {
      const asked = now();
      try {
        const run = await this.awaitRun(runId, maxWaitMs, options);
        outlasts = isUnanswered;
        if (options.until === "decided" ? !isWaiting(run.status) : isTerminal(run.status)) return run;
        await pauses.afterHeld(asked, maxWaitMs, options.signal);
      } catch (failure) {
        if (options.signal?.aborted || !outlasts(failure)) throw failure;
        await pauses.afterAnyway(failure, options.signal);
      }
    }
  }

  // Decisions

  /** Allows one approval as it was shown: refused with `approval_changed` when another is open now. */
  async approve(shown: ShownApproval, decision: Decision = {}, options: KeyedOptions = {}): Promise<RunResult> {
    return await this.#decide(shown, "allow", decision, options);
  }

  /** Denies one approval as it was shown. `decision.reason` reaches the agent. */
  async deny(shown: ShownApproval, decision: Decision = {}, options: KeyedOptions = {}): Promise<RunResult> {
    return await this.#decide(shown, "deny", decision, options);
  }

  async #decide(shown: ShownApproval, behavior: "allow" | "deny", decision: Decision, options: KeyedOptions): Promise<RunResult> {
    const { id, handle, input_digest } = shown.request;
    const resolution: doc.ApprovalResolution = { ...decision, request_id: id, behavior };
    if (handle) resolution.handle = handle;
    if (input_digest) resolution.input_digest = input_digest;
    return await this.resolveRunApprovals(shown.run_id, [resolution], options);
  }

  /** Answers one question: an array answers its structured questions, `{ value }` a typed one. */
  async answer(
    shown: ShownQuestion,
    answer: doc.UserQuestionAnswer[] | { value: unknown; justification?: string },
    options: KeyedOptions = {},
  ): Promise<RunResult> {
    const given = Array.isArray(answer) ? { answers: answer } : answer;
    return await this.answerRunQuestion(shown.run_id ?? "", { request_id: shown.request.id ?? "", ...given }, options);
  }

  /** Declines one question. */
  async decline(shown: ShownQuestion, options: KeyedOptions & { justification?: string } = {}): Promise<RunResult> {
    const resolution: doc.UserQuestionResolution = { request_id: shown.request.id ?? "", declined: true };
    if (options.justification !== undefined) resolution.justification = options.justification;
    return await this.answerRunQuestion(shown.run_id ?? "", resolution, options);
  }

  // The calls of a worker. Worker makes them for a handler; use them only for a loop of your own.

  /** Returns runs with their leases; none when the wait ran out. Not repeated when its reply is lost. */
  async claimRuns(
    body: { worker_id: string; agent_ids?: string[]; max_runs?: number; lease_ms?: number; wait_ms?: number },
    options: CallOptions = {},
  ): Promise<doc.Claim[]> {
    const reply = await this.transport.call<{ claims: doc.Claim[] }>({
      method: "POST", path: "/v1/runs/claim", body, heldMs: body.wait_ms, repeat: "if_not_taken", needs: ["claims"], signal: options.signal,
    });
    return reply.value.claims;
  }

  /** Claims this run. Not repeated when its reply is lost. */
  async claimRun(runId: string, body: { worker_id: string; lease_ms?: number }, options: CallOptions = {}): Promise<doc.Claim> {
    return (await this.#post<doc.Claim>(at("/v1/runs", runId, "claim"), body, options, "if_not_taken", ["run", "lease"])).value;
  }

  /** Extends a lease, and stores a checkpoint when there is one. */
  async heartbeat(
    runId: string,
    body: { fence: string; lease_ms?: number; checkpoint?: unknown; settled_after?: string },
    options: CallOptions = {},
  ): Promise<doc.HeartbeatReply> {
    return await this.#work<doc.HeartbeatReply>(at("/v1/runs", runId, "heartbeat"), body, options, "expires_at_ms", "cancel_requested");
  }

  /** Raises requests and waits for them. Unless `hold` is set or the reply has a resume, the lease has ended. */
  async suspend(runId: string, fence: string, suspension: doc.Suspension & { idempotency_key?: string }, options: CallOptions = {}): Promise<doc.SuspendReply> {
    const body = { ...suspension, fence, suspension_id: suspension.suspension_id || idUnlessKeyed("suspension", suspension) };
    return await this.#work<doc.SuspendReply>(at("/v1/runs", runId, "suspend"), body, options, "run");
  }

  /** Returns what was settled on a run after a cursor, as soon as there is something, or nothing after the wait. The first cursor is "0". */
  async awaitSettled(runId: string, fence: string, after: string, waitMs: number, options: CallOptions = {}): Promise<doc.Settled> {
    return await this.#get(at("/v1/runs", runId, "resume"), { fence, after }, options, waitMs, ["settled", "after"]);
  }

  /**
   * Adds events to the session's log and returns the id of the last. They are added once, even if the call is repeated because its
   * reply was lost. More than 256 events or 512 KiB are sent in several calls, in order: after an error the events of the earlier
   * calls are in the log. Each of several calls has the idempotency key with a suffix of five bytes.
   */
  async appendEvents(runId: string, fence: string, events: { type: string; [member: string]: unknown }[], options: KeyedOptions = {}): Promise<string> {
    let last = "";
    await this.#append(events, options.idempotencyKey ?? randomUUID(), async (events, idempotencyKey) => {
      const reply = await this.#keyed<{ last_event_id: string }>(at("/v1/runs", runId, "events"), { fence, events }, { ...options, idempotencyKey }, ["last_event_id"]);
      last = reply.value.last_event_id;
    });
    return last;
  }

  /**
   * @internal `appendEvents` with a key that is derived from the run and the events. A conflict then
   * means that an earlier claim, with another fence, has appended them.
   */
  async appendOfTask(
    runId: string, fence: string, events: { type: string; [member: string]: unknown }[], options: CallOptions & { idempotencyKey: string },
  ): Promise<void> {
    await this.#append(events, options.idempotencyKey, async (events, idempotencyKey) => {
      try {
        await this.#keyed(at("/v1/runs", runId, "events"), { fence, events }, { ...options, idempotencyKey }, ["last_event_id"]);
      } catch (failure) {
        if (!isKind(failure, "idempotency_conflict")) throw failure;
      }
    });
  }

  async #append(
    events: { type: string; [member: string]: unknown }[], key: string,
    send: (events: { type: string; [member: string]: unknown }[], key: string) => Promise<void>,
  ): Promise<void> {
    const calls = appends(events);
    for (const [i, call] of calls.entries()) await send(call, calls.length === 1 ? key : `${key}/${String(i + 1).padStart(4, "0")}`);
  }

  /**
   * Gives a run back unfinished; it is claimable at once. With `failed` it is retried after a delay. If the disk or the budget is
   * exhausted, a checkpoint of more than 1 KiB is refused with its release, which then works without one.
   */
  async releaseRun(
    runId: string, fence: string, options: CallOptions & { checkpoint?: unknown; failed?: { error: string; attempt: number; delayMs: number } } = {},
  ): Promise<doc.RunView> {
    const failed = options.failed && { last_error: options.failed.error, attempt: options.failed.attempt, delay_ms: Math.round(options.failed.delayMs) };
    return await this.#work<doc.RunView>(at("/v1/runs", runId, "release"), { fence, checkpoint: options.checkpoint, ...failed }, options, "run_id");
  }

  /** Asks the parent's session on behalf of a run. */
  async askParent(runId: string, fence: string, body: Omit<doc.AskParent, "fence">, options: CallOptions = {}): Promise<doc.AskParentReply> {
    const { id, tool_call_id } = body.request;
    const request = id || tool_call_id ? body.request : { ...body.request, id: newID("question") };
    return await this.#work<doc.AskParentReply>(at("/v1/runs", runId, "clarifications"), { ...body, request, fence }, options, "run");
  }

  // Sessions

  /** Makes a session, or returns the one that has the id. Without one the service names it, and a lost reply is made good by a key. */
  async createSession(body: doc.CreateSession = {}, options: CallOptions = {}): Promise<doc.SessionView> {
    const idempotencyKey = keyOf({}, body, body.session_id);
    return await this.#work<doc.SessionView>("/v1/sessions", { ...body, session_id: body.session_id || undefined }, { ...options, idempotencyKey }, "session_id");
  }

  /** Makes a run in the session and waits until it waits for a person or ends, 30 s by default and 60 s at most. */
  async sendInput(
    sessionId: string,
    body: Omit<doc.CreateRun, "session_id" | "claim" | "suspend">,
    options: KeyedOptions & { waitMs?: number } = {},
  ): Promise<SessionResult> {
    const idempotencyKey = keyOf(options, body, body.run_id);
    return result(await this.#post<doc.SessionView>(at("/v1/sessions", sessionId, "input"), body, { heldMs: 30_000, ...options, idempotencyKey }, "always", ["session_id", "status"]));
  }

  // Lists: a page by itself, or an iterator over all pages

  async listApprovals(options: PendingListOptions = {}): Promise<doc.Page<doc.PendingApproval>> {
    return await page(this.transport, ...pending("approvals", options), options);
  }

  allApprovals(options: PendingListOptions = {}): AsyncGenerator<doc.PendingApproval, void> {
    return walk(this.transport, ...pending("approvals", options), options);
  }

  async listQuestions(options: PendingListOptions = {}): Promise<doc.Page<doc.PendingQuestion>> {
    return await page(this.transport, ...pending("questions", options), options);
  }

  allQuestions(options: PendingListOptions = {}): AsyncGenerator<doc.PendingQuestion, void> {
    return walk(this.transport, ...pending("questions", options), options);
  }

  async listSessionEvents(sessionId: string, options: EventListOptions = {}): Promise<doc.RunEventEntry[]> {
    return (await events(this.transport, at("/v1/sessions", sessionId, "events"), options)).value;
  }

  allSessionEvents(sessionId: string, options: EventListOptions = {}): AsyncGenerator<doc.RunEventEntry, void> {
    return walkEvents(this.transport, at("/v1/sessions", sessionId, "events"), options);
  }

  async listRunEvents(runId: string, options: EventListOptions = {}): Promise<doc.RunEventEntry[]> {
    return (await events(this.transport, at("/v1/runs", runId, "events"), options)).value;
  }

  allRunEvents(runId: string, options: EventListOptions = {}): AsyncGenerator<doc.RunEventEntry, void> {
    return walkEvents(this.transport, at("/v1/runs", runId, "events"), options);
  }

  /** The output records of a run, oldest first. A run's view shows only the newest. */
  async *allOutputs(runId: string, options: CallOptions = {}): AsyncGenerator<doc.OutputEntry, void> {
    for (let after: string | undefined; ; ) {
      const page: doc.OutputPage = await this.#get(at("/v1/runs", runId, "outputs"), { after }, options, undefined, ["items"]);
      yield* page.items;
      if (page.next_after === null || page.next_after === after) return;
      after = page.next_after;
    }
  }

  // Streams

  /**
   * Follows a session: a snapshot, and then every event after it, in order and each once. It
   * connects again by itself after a cut, and ends after the last event of a session that has
   * ended.
   */
  streamSession(sessionId: string, options: StreamOptions = {}): AsyncGenerator<StreamItem<doc.SessionView>, void> {
    const kind: Snapshots<doc.SessionView> = {
      path: at("/v1/sessions", sessionId, "stream"), numbered: true,
      endsWith: (session) => session.status === "ended",
      isFinal: () => false, // the end of a session is not an event
      isComplete: async (after) => {
        const session = await this.getSession(sessionId, options);
        return session.status === "ended" && session.last_event_id === numberOf(after);
      },
    };
    return stream(this.transport, kind, options);
  }

  /** Follows a run like `streamSession`. It ends after the event that ends the run; a failure that was retried does not end it. */
  streamRun(runId: string, options: StreamOptions = {}): AsyncGenerator<StreamItem<doc.RunView>, void> {
    const kind: Snapshots<doc.RunView> = {
      path: at("/v1/runs", runId, "stream"), numbered: true,
      endsWith: (run) => isTerminal(run.status),
      isFinal: (entry, name) => entry.run_id === runId && name !== "failed" && isTerminal(name), // a run that failed may have been retried
      isComplete: async (after) => {
        if (!isTerminal((await this.getRun(runId, options)).status)) return false;
        try {
          return (await this.listRunEvents(runId, { signal: options.signal, after, limit: 1 })).length === 0;
        } catch (thrown) {
          if (isKind(thrown, "cursor_reset")) return false; // the next connection says so, with a snapshot
          throw thrown;
        }
      },
    };
    return stream(this.transport, kind, options);
  }

  /**
   * Follows what is open in all sessions: a snapshot, and then every event about a request. It
   * connects again by itself and has no end. A snapshot replaces everything before it. Events
   * may come twice, and may be part of the snapshot already.
   */
  streamInbox(options: CallOptions = {}): AsyncGenerator<StreamItem<doc.InboxView>, void> {
    const kind: Snapshots<doc.InboxView> = {
      path: "/v1/stream", numbered: false, endsWith: () => false, isFinal: () => false, isComplete: async () => false,
    };
    return stream(this.transport, kind, options);
  }

  // Rules, mailboxes, effects, tokens

  async addRule(rule: doc.AddRule, options: CallOptions = {}): Promise<doc.Rule> {
    return await this.#work<doc.Rule>("/v1/rules", { ...rule, rule_id: rule.rule_id || idUnlessKeyed("rule", rule) }, options, "rule_id");
  }

  /**
   * Redeems a grant, once, under the lease with which it came; `input` is what is about to run.
   * Call it just before doing what was approved, and do it only when nothing was thrown. After
   * `unavailable` it may be redeemed: only the same call with the same key says.
   */
  async redeemGrant(grant: string, input: unknown, options: KeyedOptions = {}): Promise<doc.Redemption> {
    return (await this.#keyed<doc.Redemption>("/v1/grants/redeem", { grant, input_digest: await inputDigest(input) }, options, ["jti"])).value;
  }

  /** Resolves when the service and its database can be used. Not repeated. */
  async ready(options: CallOptions = {}): Promise<void> {
    await this.transport.call({ method: "GET", path: "/readyz", repeat: "never", signal: options.signal });
  }

  // What the calls above are made of

  async #get<T>(path: string, query: Query, options: CallOptions, preferMs?: number, needs?: string[]): Promise<T> {
    return (await this.transport.call<T>({ method: "GET", path, query, preferMs, repeat: "always", needs, signal: options.signal })).value;
  }

  async #post<T>(
    path: string,
    body: unknown,
    options: KeyedOptions & { waitMs?: number; heldMs?: number },
    repeat: Repeatable = "always",
    needs?: Call["needs"],
  ): Promise<Reply<T>> {
    return await this.transport.call<T>({
      method: "POST", path, body, key: options.idempotencyKey, preferMs: options.waitMs, heldMs: options.heldMs, repeat, needs, signal: options.signal,
    });
  }

  async #keyed<T>(path: string, body: unknown, options: KeyedOptions, needs?: string[]): Promise<Reply<T>> {
    return await this.#post<T>(path, body, { ...options, idempotencyKey: options.idempotencyKey ?? randomUUID() }, "always", needs);
  }

  /**
   * Makes a call that renews a lease, or changes a run, a session or a rule. A reply without the
   * members of such a reply renews and ends nothing.
   */
  async #work<T>(path: string, body: unknown, options: KeyedOptions, ...needs: string[]): Promise<T> {
    return (await this.#post<T>(path, body, options, "always", needs)).value;
  }
}

/** Throws unless a text is what the service accepts as an identifier. */
export function requireID(name: string, id: string): void {
  if (!/^[A-Za-z0-9._:-]{1,200}$/.test(id) || id === "." || id === "..") {
    throw invalid(`${name} must have 1 to 200 characters of A-Z a-z 0-9 . _ : -`);
  }
}
