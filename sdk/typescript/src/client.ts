import { type CallOptions, type HoldpointOptions, type KeyedOptions, type Reply, type Repeatable, Transport, at, maxWaitMs, newID, randomUUID } from "./http.js";
import { invalid, isKind, isTransient } from "./errors.js";
import { inputDigest } from "./grants.js";
import { encodeJSON } from "./json.js";
import { numberOf, type Snapshots, type StreamItem, type StreamOptions, stream } from "./stream.js";
import { now } from "./retry.js";
import * as doc from "./types.js";
import { isTerminal, isWaiting } from "./types.js";

/** Empty members choose all. */
export interface PageOptions extends CallOptions {
  /** 1 to 100. */
  limit?: number;
  /** The `pagination.next_cursor` of the page before. */
  cursor?: string;
}

export interface RunListOptions extends PageOptions {
  sessionId?: string;
  agentId?: string;
  status?: string;
  kind?: string;
  /** Runs that are not over come first. */
  priorityActive?: boolean;
}

export interface SessionListOptions extends PageOptions {
  status?: string;
  agentId?: string;
}

export interface PendingListOptions extends PageOptions {
  /** An unknown session has none. */
  sessionId?: string;
}

export interface EffectListOptions extends PageOptions {
  state?: string;
  sessionId?: string;
}

export interface DecisionListOptions extends PageOptions {
  sessionId?: string;
  agentId?: string;
  actor?: string;
  outcome?: string;
  sinceMs?: number;
  /** Cuts the inputs of approvals to 4 KiB. */
  summary?: boolean;
}

export interface EventListOptions extends CallOptions {
  /** The id of the last event already seen. */
  after?: string;
  /** At most 1,000. */
  limit?: number;
}

export interface WaitOptions extends CallOptions {
  /** `terminal` (the default), or `decided`: the run does not wait for a person (any more). */
  until?: "decided" | "terminal";
}

/** A run after a call, and whether that call was a repeat. */
export type RunResult = doc.RunView & { readonly replayed: boolean };

/** A session after a call, and whether that call was a repeat. */
export type SessionResult = doc.SessionView & { readonly replayed: boolean };

export interface CreatedRun {
  run: doc.RunView;
  /** Set when the body asked for one and the run has the lease that the call took. */
  claim?: doc.Claim;
  /** The idempotency key had been used for the same call. */
  replayed: boolean;
  /** A run with this id and payload was there. */
  existing: boolean;
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
export class Holdpoint {
  /** @internal */
  readonly transport: Transport;

  constructor(options: HoldpointOptions) {
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
    const key = options.idempotencyKey ?? (body.run_id ? undefined : randomUUID());
    const reply = await this.#post<doc.RunView | doc.Claim>(path, body, { ...options, idempotencyKey: key });
    const created = { replayed: reply.replayed, existing: reply.status === 200 };
    if (!("run" in reply.value)) return { ...created, run: reply.value };
    const claim = reply.value;
    const held = claim.run.lease;
    // A repeated call shows the lease that it took the first time, which may have ended.
    const stillHeld = held && held.worker_id === claim.lease.worker_id && held.expires_at_ms === claim.lease.expires_at_ms;
    return { ...created, run: claim.run, ...(stillHeld ? { claim } : {}) };
  }

  async getRun(runId: string, options: CallOptions = {}): Promise<doc.RunView> {
    return await this.#get(at("/v1/runs", runId), {}, options, undefined, ["run_id"]);
  }

  /** Returns a run as soon as it is where `until` says, or as it is after the wait of at most 60 s. */
  async awaitRun(runId: string, waitMs: number, options: WaitOptions = {}): Promise<doc.RunView> {
    return await this.#get(at("/v1/runs", runId), { until: options.until ?? "terminal" }, options, waitMs, ["run_id"]);
  }

  /** Returns a run when it is where `until` says, however long that takes. It outlasts an unavailable service. */
  async waitRun(runId: string, options: WaitOptions = {}): Promise<doc.RunView> {
    const pauses = this.transport.pauses();
    for (;;) {
      const asked = now();
      try {
        const run = await this.awaitRun(runId, maxWaitMs, options);
        if (options.until === "decided" ? !isWaiting(run.status) : isTerminal(run.status)) return run;
        await pauses.afterHeld(asked, maxWaitMs, options.signal);
      } catch (failure) {
        if (options.signal?.aborted || !isTransient(failure)) throw failure;
        await pauses.afterAnyway(failure, options.signal);
      }
    }
  }

  /**
   * Makes a failed run claimable again, with its input, its checkpoint and its last decisions.
   * Throws `run_state` when it is not failed, `session_busy` while another run of its session is
   * active, and `session_ended`.
   */
  async retryRun(runId: string, options: KeyedOptions = {}): Promise<doc.RunView> {
    return (await this.#keyed<doc.RunView>(at("/v1/runs", runId, "retry"), {}, options, ["run_id"])).value;
  }

  /** Cancels a run; one that is over stays as it is. */
  async cancelRun(runId: string, options: CallOptions & { reason?: string } = {}): Promise<doc.RunView> {
    return await this.#work<doc.RunView>(at("/v1/runs", runId, "cancel"), reason(options), options, "run_id");
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

  /** Decides approvals of a run, all or none. */
  async resolveRunApprovals(runId: string, resolutions: doc.ApprovalResolution[], options: KeyedOptions = {}): Promise<RunResult> {
    return await this.#decideRun(at("/v1/runs", runId, "approvals"), { resolutions }, options);
  }

  /** Decides approvals of the session's active run. */
  async resolveActiveRunApprovals(sessionId: string, resolutions: doc.ApprovalResolution[], options: KeyedOptions = {}): Promise<RunResult> {
    return await this.#decideRun(at("/v1/sessions", sessionId, "approval-runs"), { resolutions }, options);
  }

  /** Decides approvals of the session's active run and returns the session, after the wait at the latest. */
  async resolveSessionApprovals(sessionId: string, resolutions: doc.ApprovalResolution[], options: KeyedOptions & { waitMs?: number } = {}): Promise<SessionResult> {
    return await this.#decideSession(at("/v1/sessions", sessionId, "approvals"), { resolutions }, options);
  }

  async answerRunQuestion(runId: string, resolution: doc.UserQuestionResolution, options: KeyedOptions = {}): Promise<RunResult> {
    return await this.#decideRun(at("/v1/runs", runId, "questions"), { resolution }, options);
  }

  /** Answers a question of the session's active run, or else of a parent clarification that waits in the session. */
  async answerSessionQuestion(sessionId: string, resolution: doc.UserQuestionResolution, options: KeyedOptions & { waitMs?: number } = {}): Promise<SessionResult> {
    return await this.#decideSession(at("/v1/sessions", sessionId, "questions"), { resolution }, options);
  }

  /** Cancels an open question, and with it the run; a parent clarification is completed, declined. */
  async cancelQuestion(runId: string, requestId: string, options: KeyedOptions & { justification?: string } = {}): Promise<RunResult> {
    const body = options.justification === undefined ? {} : { justification: options.justification };
    return await this.#decideRun(at("/v1/runs", runId, "questions", requestId, "cancel"), body, options);
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
  async suspend(runId: string, fence: string, suspension: doc.Suspension, options: CallOptions = {}): Promise<doc.SuspendReply> {
    const body = { ...suspension, fence, suspension_id: suspension.suspension_id || newID("suspension") };
    return await this.#work<doc.SuspendReply>(at("/v1/runs", runId, "suspend"), body, options, "run");
  }

  /** Returns what was settled on a run after a cursor, as soon as there is something, or nothing after the wait. The first cursor is "0". */
  async awaitSettled(runId: string, fence: string, after: string, waitMs: number, options: CallOptions = {}): Promise<doc.Settled> {
    return await this.#get(at("/v1/runs", runId, "resume"), { fence, after }, options, waitMs, ["settled", "after"]);
  }

  /** Withdraws a request that an attached worker no longer needs. */
  async withdraw(runId: string, requestId: string, fence: string, options: CallOptions & { reason?: string } = {}): Promise<doc.RunView> {
    const body = { fence, ...reason(options) };
    return await this.#work<doc.RunView>(at("/v1/runs", runId, "requests", requestId, "withdraw"), body, options, "run_id");
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

  async completeRun(runId: string, fence: string, output?: unknown, options: CallOptions = {}): Promise<doc.RunView> {
    return await this.#work<doc.RunView>(at("/v1/runs", runId, "complete"), { fence, output }, options, "run_id");
  }

  async failRun(runId: string, fence: string, error: string, options: CallOptions = {}): Promise<doc.RunView> {
    return await this.#work<doc.RunView>(at("/v1/runs", runId, "fail"), { fence, error }, options, "run_id");
  }

  /** Gives a run back unfinished; it is claimable at once. With `failed` it is retried after a delay. */
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

  /** Makes a session, or returns the one that has the id. */
  async createSession(body: doc.CreateSession = {}, options: CallOptions = {}): Promise<doc.SessionView> {
    return (await this.#post<doc.SessionView>("/v1/sessions", { ...body, session_id: body.session_id || newID("session") }, options)).value;
  }

  async getSession(sessionId: string, options: CallOptions = {}): Promise<doc.SessionView> {
    return await this.#get(at("/v1/sessions", sessionId), {}, options);
  }

  /** Changes a session's metadata, label and origin. */
  async amendSession(sessionId: string, body: doc.AmendSession, options: CallOptions = {}): Promise<doc.SessionView> {
    return (await this.transport.call<doc.SessionView>({ method: "PATCH", path: at("/v1/sessions", sessionId), body, repeat: "always", signal: options.signal })).value;
  }

  /** Interrupts the session's active run and declines the parent clarifications that wait in it. */
  async interruptSession(sessionId: string, options: CallOptions & { reason?: string } = {}): Promise<doc.InterruptReply> {
    return await this.#work<doc.InterruptReply>(at("/v1/sessions", sessionId, "interrupt"), reason(options), options, "interrupted", "session");
  }

  /** Ends a session: its runs are cancelled and no run is accepted any more. */
  async endSession(sessionId: string, options: CallOptions & { reason?: string } = {}): Promise<doc.SessionView> {
    return await this.#work<doc.SessionView>(at("/v1/sessions", sessionId, "end"), reason(options), options, "session_id");
  }

  /** Makes a run in the session and waits until it waits for a person or ends, 30 s by default and 60 s at most. */
  async sendInput(
    sessionId: string,
    body: Omit<doc.CreateRun, "session_id" | "claim" | "suspend">,
    options: KeyedOptions & { waitMs?: number } = {},
  ): Promise<SessionResult> {
    const idempotencyKey = options.idempotencyKey ?? (body.run_id ? undefined : randomUUID());
    return result(await this.#post<doc.SessionView>(at("/v1/sessions", sessionId, "input"), body, { heldMs: 30_000, ...options, idempotencyKey }, "always", sessionNeeds));
  }

  // Lists: a page by itself, or an iterator over all pages

  async listRuns(options: RunListOptions = {}): Promise<doc.Page<doc.RunView>> {
    return await this.#page(runs(options), options);
  }

  allRuns(options: RunListOptions = {}): AsyncGenerator<doc.RunView, void> {
    return this.#walk(runs(options), options);
  }

  async listSessions(options: SessionListOptions = {}): Promise<doc.Page<doc.SessionSummary>> {
    return await this.#page(sessions(options), options);
  }

  allSessions(options: SessionListOptions = {}): AsyncGenerator<doc.SessionSummary, void> {
    return this.#walk(sessions(options), options);
  }

  async listApprovals(options: PendingListOptions = {}): Promise<doc.Page<doc.PendingApproval>> {
    return await this.#page(pending("approvals", options), options);
  }

  allApprovals(options: PendingListOptions = {}): AsyncGenerator<doc.PendingApproval, void> {
    return this.#walk(pending("approvals", options), options);
  }

  async listQuestions(options: PendingListOptions = {}): Promise<doc.Page<doc.PendingQuestion>> {
    return await this.#page(pending("questions", options), options);
  }

  allQuestions(options: PendingListOptions = {}): AsyncGenerator<doc.PendingQuestion, void> {
    return this.#walk(pending("questions", options), options);
  }

  async listRules(options: PendingListOptions = {}): Promise<doc.Page<doc.Rule>> {
    return await this.#page({ path: "/v1/rules", query: { session_id: options.sessionId } }, options);
  }

  allRules(options: PendingListOptions = {}): AsyncGenerator<doc.Rule, void> {
    return this.#walk({ path: "/v1/rules", query: { session_id: options.sessionId } }, options);
  }

  async listEffects(options: EffectListOptions = {}): Promise<doc.Page<doc.EffectView>> {
    return await this.#page(effects(options), options);
  }

  allEffects(options: EffectListOptions = {}): AsyncGenerator<doc.EffectView, void> {
    return this.#walk(effects(options), options);
  }

  /** What was settled, the newest first. */
  async listDecisions(options: DecisionListOptions = {}): Promise<doc.Page<doc.RequestView>> {
    return await this.#page(decisions(options), options);
  }

  allDecisions(options: DecisionListOptions = {}): AsyncGenerator<doc.RequestView, void> {
    return this.#walk(decisions(options), options);
  }

  async listSessionEvents(sessionId: string, options: EventListOptions = {}): Promise<doc.RunEventEntry[]> {
    return (await this.#events(at("/v1/sessions", sessionId, "events"), options)).value;
  }

  allSessionEvents(sessionId: string, options: EventListOptions = {}): AsyncGenerator<doc.RunEventEntry, void> {
    return this.#walkEvents(at("/v1/sessions", sessionId, "events"), options);
  }

  async listRunEvents(runId: string, options: EventListOptions = {}): Promise<doc.RunEventEntry[]> {
    return (await this.#events(at("/v1/runs", runId, "events"), options)).value;
  }

  allRunEvents(runId: string, options: EventListOptions = {}): AsyncGenerator<doc.RunEventEntry, void> {
    return this.#walkEvents(at("/v1/runs", runId, "events"), options);
  }

  /** The output records of a run, oldest first. A run's view shows only the newest. */
  async *allOutputs(runId: string, options: CallOptions = {}): AsyncGenerator<doc.OutputEntry, void> {
    for (let after: string | undefined; ; ) {
      const page: doc.OutputPage = await this.#get(at("/v1/runs", runId, "outputs"), { after }, options);
      yield* page.items;
      if (page.next_after === null || page.next_after === after) return;
      after = page.next_after;
    }
  }

  /** An approval or a question by its handle, open or settled. */
  async getRequest(handle: string, options: CallOptions & { context?: number } = {}): Promise<doc.RequestView> {
    return await this.#get(at("/v1/requests", handle), { context: options.context }, options);
  }

  /** The leases that are in force, by worker. */
  async listWorkers(options: CallOptions = {}): Promise<doc.WorkersView> {
    return await this.#get("/v1/workers", {}, options);
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

  /** Follows a run like `streamSession`. It ends after the event that ends the run. */
  streamRun(runId: string, options: StreamOptions = {}): AsyncGenerator<StreamItem<doc.RunView>, void> {
    const kind: Snapshots<doc.RunView> = {
      path: at("/v1/runs", runId, "stream"), numbered: true,
      endsWith: (run) => isTerminal(run.status),
      isFinal: (entry, name) => entry.run_id === runId && isTerminal(name),
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

  async getRule(ruleId: string, options: CallOptions = {}): Promise<doc.Rule> {
    return await this.#get(at("/v1/rules", ruleId), {}, options);
  }

  async addRule(rule: doc.AddRule, options: CallOptions = {}): Promise<doc.Rule> {
    return await this.#work<doc.Rule>("/v1/rules", { ...rule, rule_id: rule.rule_id || newID("rule") }, options, "rule_id");
  }

  /** Ends a rule at once. Again is a no-op. */
  async revokeRule(ruleId: string, options: CallOptions = {}): Promise<void> {
    await this.transport.call({ method: "DELETE", path: at("/v1/rules", ruleId), repeat: "always", signal: options.signal });
  }

  /** Says what would happen to an approval that asks for a call now. It changes nothing. */
  async explainRules(body: doc.ExplainRules, options: CallOptions = {}): Promise<doc.Explanation> {
    return (await this.#post<doc.Explanation>("/v1/rules/explain", body, options)).value;
  }

  /** Reads a session's messages and leases each for 30 s: acknowledge it once it is processed. */
  async mailbox(sessionId: string, options: CallOptions = {}): Promise<doc.MessageView[]> {
    return (await this.transport.call<doc.MessageView[]>({
      method: "GET", path: at("/v1/sessions", sessionId, "mailbox"), repeat: "if_not_taken", signal: options.signal,
    })).value;
  }

  async deadLetters(sessionId: string, options: CallOptions = {}): Promise<doc.MessageView[]> {
    return await this.#get(at("/v1/sessions", sessionId, "mailbox", "dead-letter"), {}, options);
  }

  async acknowledgeMessage(sessionId: string, messageId: string, options: CallOptions = {}): Promise<void> {
    await this.#post(at("/v1/sessions", sessionId, "mailbox", messageId, "ack"), undefined, options);
  }

  async replayMessage(sessionId: string, messageId: string, options: CallOptions = {}): Promise<doc.MessageView> {
    return (await this.#post<doc.MessageView>(at("/v1/sessions", sessionId, "mailbox", "dead-letter", messageId, "replay"), undefined, options)).value;
  }

  async retryEffect(sessionId: string, effectId: string, options: CallOptions = {}): Promise<doc.EffectView> {
    return (await this.#post<doc.EffectView>(at("/v1/sessions", sessionId, "effects", effectId, "retry"), undefined, options)).value;
  }

  async me(options: CallOptions = {}): Promise<doc.Me> {
    return await this.#get("/v1/me", {}, options);
  }

  /** Makes a token. Its secret cannot be had again, so the call is never repeated. */
  async createToken(body: doc.CreateToken, options: CallOptions = {}): Promise<doc.TokenSecret> {
    return (await this.#post<doc.TokenSecret>("/v1/tokens", body, options, "never")).value;
  }

  async listTokens(options: CallOptions & { state?: string; limit?: number; cursor?: string } = {}): Promise<doc.TokenList> {
    return await this.#get("/v1/tokens", { state: options.state, limit: options.limit, cursor: options.cursor }, options);
  }

  async getToken(tokenId: string, options: CallOptions = {}): Promise<doc.Token> {
    return await this.#get(at("/v1/tokens", tokenId), {}, options);
  }

  /** Gives a token another secret; the present one works for graceMs more. Never repeated. */
  async rotateToken(tokenId: string, graceMs: number, options: CallOptions = {}): Promise<doc.TokenSecret> {
    return (await this.#post<doc.TokenSecret>(at("/v1/tokens", tokenId, "rotate"), { grace_ms: graceMs }, options, "never")).value;
  }

  async revokeToken(tokenId: string, options: CallOptions = {}): Promise<void> {
    await this.transport.call({ method: "DELETE", path: at("/v1/tokens", tokenId), repeat: "always", signal: options.signal });
  }

  /** The public keys of what the service signed, for `verifyGrant`. */
  async keys(options: CallOptions = {}): Promise<doc.KeySet> {
    return await this.#get("/v1/keys", {}, options);
  }

  /**
   * Redeems a grant, once, under the lease with which it came; `input` is what is about to run.
   * Call it just before doing what was approved, and do it only when nothing was thrown. After
   * `unavailable` it may be redeemed: only the same call with the same key says.
   */
  async redeemGrant(grant: string, input: unknown, options: KeyedOptions = {}): Promise<doc.Redemption> {
    return (await this.#keyed<doc.Redemption>("/v1/grants/redeem", { grant, input_digest: await inputDigest(input) }, options, ["jti"])).value;
  }

  /**
   * Makes a ticket for one stream, for a page whose EventSource or WebSocket cannot send the
   * token: it goes into the address as `ticket`, works once within a minute, and for that path
   * alone, such as `/v1/sessions/releases/stream`. Never repeated.
   */
  async createStreamTicket(path: string, options: CallOptions = {}): Promise<doc.StreamTicket> {
    return (await this.#post<doc.StreamTicket>("/v1/stream-tickets", { path }, options, "never")).value;
  }

  async version(options: CallOptions = {}): Promise<doc.Version> {
    return await this.#get("/version", {}, options);
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
    needs?: string[],
  ): Promise<Reply<T>> {
    return await this.transport.call<T>({
      method: "POST", path, body, key: options.idempotencyKey, preferMs: options.waitMs, heldMs: options.heldMs, repeat, needs, signal: options.signal,
    });
  }

  async #keyed<T>(path: string, body: unknown, options: KeyedOptions & { waitMs?: number }, needs?: string[]): Promise<Reply<T>> {
    return await this.#post<T>(path, body, { ...options, idempotencyKey: options.idempotencyKey ?? randomUUID() }, "always", needs);
  }

  async #decideRun(path: string, body: unknown, options: KeyedOptions): Promise<RunResult> {
    return result(await this.#keyed<doc.RunView>(path, body, options, runNeeds));
  }

  async #decideSession(path: string, body: unknown, options: KeyedOptions & { waitMs?: number }): Promise<SessionResult> {
    return result(await this.#keyed<doc.SessionView>(path, body, options, sessionNeeds));
  }

  /**
   * Makes a call that renews a lease, or changes a run, a session or a rule. A reply without the
   * members of such a reply renews and ends nothing.
   */
  async #work<T>(path: string, body: unknown, options: CallOptions, ...needs: string[]): Promise<T> {
    return (await this.#post<T>(path, body, options, "always", needs)).value;
  }

  async #page<T>(list: List, options: PageOptions): Promise<doc.Page<T>> {
    return await this.#get(list.path, { ...list.query, page: true, limit: options.limit, cursor: options.cursor }, options);
  }

  async *#walk<T>(list: List, options: PageOptions): AsyncGenerator<T, void> {
    for (let cursor = options.cursor; ; ) {
      const page: doc.Page<T> = await this.#page(list, { ...options, limit: options.limit ?? 100, ...(cursor ? { cursor } : {}) });
      yield* page.items;
      const next = page.pagination.next_cursor;
      if (!page.pagination.has_more || next === null || next === cursor) return;
      cursor = next;
    }
  }

  async #events(path: string, options: EventListOptions): Promise<Reply<doc.RunEventEntry[]>> {
    return await this.transport.call({
      method: "GET", path, query: { after: options.after, limit: options.limit }, repeat: "always", signal: options.signal,
    });
  }

  async *#walkEvents(path: string, options: EventListOptions): AsyncGenerator<doc.RunEventEntry, void> {
    const limit = options.limit ?? 1000;
    for (let after = options.after; ; ) {
      const reply = await this.#events(path, { ...options, limit, ...(after ? { after } : {}) });
      yield* reply.value;
      after = reply.value.at(-1)?.id;
      // A page may end early, because it would be too large.
      if (after === undefined || (!reply.more && reply.value.length < limit)) return;
    }
  }
}

// What the reply to a decision always has. A reply without them does not say that anything was decided.
const runNeeds = ["run_id", "status"];
const sessionNeeds = ["session_id", "status"];

type Query = Record<string, string | number | boolean | undefined>;

interface List {
  path: string;
  query: Query;
}

function runs(o: RunListOptions): List {
  return { path: "/v1/runs", query: { session_id: o.sessionId, agent_id: o.agentId, status: o.status, kind: o.kind, priority_active: o.priorityActive || undefined } };
}

function sessions(o: SessionListOptions): List {
  return { path: "/v1/sessions", query: { status: o.status, agent_id: o.agentId } };
}

function pending(noun: string, o: PendingListOptions): List {
  return { path: o.sessionId === undefined ? `/v1/${noun}` : at("/v1/sessions", o.sessionId, noun), query: {} };
}

function effects(o: EffectListOptions): List {
  return { path: "/v1/effects", query: { state: o.state, session_id: o.sessionId } };
}

function decisions(o: DecisionListOptions): List {
  return {
    path: "/v1/decisions",
    query: { session_id: o.sessionId, agent_id: o.agentId, actor: o.actor, outcome: o.outcome, since_ms: o.sinceMs, fields: o.summary ? "summary" : undefined },
  };
}

/** Splits events into what one call takes: 256 events and 512 KiB, one event at least. */
function appends<T>(events: T[]): T[][] {
  const calls: T[][] = [[]];
  let bytes = 0;
  for (const event of events) {
    const size = utf8.encode(encodeJSON(event)).length;
    let last = calls[calls.length - 1]!;
    if (last.length > 0 && (last.length === 256 || bytes + size > 512 * 1024)) {
      calls.push(last = []);
      bytes = 0;
    }
    last.push(event);
    bytes += size;
  }
  return calls;
}

const utf8 = new TextEncoder();

function reason(options: { reason?: string }): { reason?: string } {
  return options.reason === undefined ? {} : { reason: options.reason };
}

function result<T extends object>(reply: Reply<T>): T & { readonly replayed: boolean } {
  // Not a member of the document: it is left out when the result is written as JSON.
  return Object.defineProperty(reply.value, "replayed", { value: reply.replayed, enumerable: false }) as T & { readonly replayed: boolean };
}

/** Throws unless a text is what the service accepts as an identifier. */
export function requireID(name: string, id: string): void {
  if (!/^[A-Za-z0-9._:-]{1,200}$/.test(id) || id === "." || id === "..") {
    throw invalid(`${name} must have 1 to 200 characters of A-Z a-z 0-9 . _ : -`);
  }
}
