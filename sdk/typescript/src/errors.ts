import type { Fault, PendingApprovalRef, Problem, RecordedDecision, Redemption } from "./types.js";

/**
 * What an error means to a caller. An error may be of several kinds: a late answer is
 * `conflict`, `already_decided` and perhaps `expired` at once.
 *
 * - `not_found`: the session, run, request, message, effect or route does not exist.
 * - `conflict`: the present state does not allow it (every 409).
 * - `invalid`: the request is malformed, or an argument was refused before anything was sent.
 * - `already_decided`: the request was settled before; `recordedDecision` says how.
 * - `expired`: the question expired, or the decision on record is that the request expired.
 * - `lease_lost`: the fence is stale, or the lease could not be renewed in time.
 * - `run_not_claimable`, `run_state`, `session_busy`, `session_ended`, `no_parent`,
 *   `id_conflict`, `idempotency_conflict`: the code of that name says it.
 * - `not_waiting`: the run does not wait for such a thing, or not for this one.
 * - `approval_changed`: the open approval is not the one that was decided about;
 *   `pendingApproval` is what is open now.
 * - `cursor_reset`: some of the events after the given one are not kept any more;
 *   `firstKeptEventId` is the oldest that is.
 * - `invalid_grant`: the service did not sign the grant, or it is for another request.
 * - `grant_mismatch`: the grant is for another tool or input. `grant_expired`: its lease has run out.
 * - `invalid_answer`: the service did not sign the answer, or it is another one.
 *   `answer_expired`: the lease that it was signed for has run out.
 * - `grant_redeemed`: it was redeemed before; `redemption` says when and by whom.
 * - `unauthorized`, `forbidden`, `rate_limited`: 401, 403, 429.
 * - `unavailable`: the service could not be reached or could not answer. A call that changes
 *   something may or may not have taken effect.
 * - `not_allowed`: an approval was denied or has expired, see `NotAllowedError`.
 * - `suspended`, `cancelled`, `worker_stopped`: what ends a handler early, see `Handler`.
 */
export type ErrorKind =
  | "not_found" | "conflict" | "invalid" | "already_decided" | "expired" | "lease_lost"
  | "run_not_claimable" | "run_state" | "not_waiting" | "approval_changed" | "session_busy"
  | "session_ended" | "no_parent" | "id_conflict" | "idempotency_conflict" | "cursor_reset"
  | "invalid_grant" | "grant_mismatch" | "grant_expired" | "grant_redeemed" | "unauthorized"
  | "invalid_answer" | "answer_expired"
  | "forbidden" | "rate_limited" | "unavailable" | "suspended" | "cancelled" | "worker_stopped" | "not_allowed";

/** Every error of this package but those of an `AbortSignal`, whose reason is thrown as it is. */
export class HoldpointError extends Error {
  override name = "HoldpointError";
  readonly kinds: ReadonlySet<ErrorKind>;

  constructor(kinds: Iterable<ErrorKind>, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kinds = new Set(kinds);
  }

  is(kind: ErrorKind): boolean {
    return this.kinds.has(kind);
  }
}

/** Whether what was thrown is an error of this package and of the kind. */
export function isKind(thrown: unknown, kind: ErrorKind): thrown is HoldpointError {
  return thrown instanceof HoldpointError && thrown.is(kind);
}

/** The service refused the call: a problem document. */
export class ProblemError extends HoldpointError {
  override name = "ProblemError";
  /** The HTTP status. */
  readonly status: number;
  /** The stable name of the error; "" when something in between answered without a document. */
  readonly code: string;
  /** The part of the API that the code belongs to. */
  readonly domain: string;
  /** For people. */
  readonly detail: string;
  /** The members at fault, each with a JSON pointer. */
  readonly faults: readonly Fault[];
  /** The decision before this call, when the call was late. */
  readonly recordedDecision: RecordedDecision | undefined;
  /** The approval that is open now, of `approval_changed`. */
  readonly pendingApproval: PendingApprovalRef | undefined;
  /** The first redemption, of `grant_redeemed`. */
  readonly redemption: Redemption | undefined;
  /** The oldest event that is kept, of `event_cursor_reset`. */
  readonly firstKeptEventId: string | undefined;
  /** How many tries of a code are left after a wrong one. */
  readonly left: number | undefined;
  /** How long the service asked to wait; 0 without a Retry-After. */
  readonly retryAfterMs: number;
  /**
   * An earlier attempt of the same call had no reply of the service, so the call may have taken effect although this attempt was
   * refused. The error is then also `unavailable`.
   */
  readonly lost: boolean = false;

  constructor(status: number, document: Partial<Problem>, retryAfterMs = 0) {
    const code = document.code ?? "";
    const detail = document.detail ?? "";
    super(kindsOf(status, code, document.recorded_decision), [code || `HTTP ${status}`, detail].filter(Boolean).join(": "));
    this.status = status;
    this.code = code;
    this.domain = document.domain ?? "";
    this.detail = detail;
    this.faults = document.errors ?? [];
    this.recordedDecision = document.recorded_decision;
    this.pendingApproval = document.pending_approval;
    this.redemption = document.redemption;
    this.firstKeptEventId = document.first_kept_event_id;
    this.left = document.left;
    this.retryAfterMs = retryAfterMs;
  }

  /** The JSON pointer of the first member at fault. */
  get pointer(): string | undefined {
    return this.faults[0]?.pointer;
  }
}

const byStatus: Record<number, ErrorKind> = {
  400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict", 413: "invalid",
  415: "invalid", 422: "invalid", 429: "rate_limited", 502: "unavailable", 503: "unavailable", 504: "unavailable",
};

const byCode: Record<string, ErrorKind> = {
  question_expired: "expired",
  lease_lost: "lease_lost",
  run_not_claimable: "run_not_claimable",
  run_state_conflict: "run_state",
  approval_state_conflict: "not_waiting",
  question_state_conflict: "not_waiting",
  approval_request_not_pending: "not_waiting",
  question_request_mismatch: "not_waiting",
  question_resolution_conflict: "not_waiting",
  approval_changed: "approval_changed",
  session_busy: "session_busy",
  session_ended: "session_ended",
  no_parent_session: "no_parent",
  id_conflict: "id_conflict",
  idempotency_conflict: "idempotency_conflict",
  event_cursor_reset: "cursor_reset",
  invalid_grant: "invalid_grant",
  grant_mismatch: "grant_mismatch",
  grant_expired: "grant_expired",
  grant_redeemed: "grant_redeemed",
};

function kindsOf(status: number, code: string, recorded: RecordedDecision | undefined): ErrorKind[] {
  const kinds = [byStatus[status], byCode[code]].filter((kind) => kind !== undefined);
  if (recorded) kinds.push("already_decided");
  if (recorded?.outcome === "expired") kinds.push("expired");
  return kinds;
}

/** There was no whole reply. */
export class UnavailableError extends HoldpointError {
  override name = "UnavailableError";
  /** Whether no attempt of the call reached the service, for certain. */
  readonly notSent: boolean;

  constructor(message: string, options?: ErrorOptions & { notSent?: boolean }) {
    super(["unavailable"], message, options);
    this.notSent = options?.notSent ?? false;
  }
}

/**
 * @internal Notes in the last failure of a call that an earlier attempt may have taken effect. The service checks the credential and the
 * limits before it looks for an earlier attempt, so such a refusal does not say what became of it. What it does not find may be deleted
 * by that attempt, or since then out of the token's scope.
 */
export function afterLost(failure: unknown): void {
  if (failure instanceof UnavailableError) (failure as { notSent: boolean }).notSent = false;
  if (!(failure instanceof ProblemError)) return;
  if (failure.code !== "" && failure.status < 500 && ![401, 403, 404, 408, 429].includes(failure.status)) return;
  (failure as { lost: boolean }).lost = true;
  (failure.kinds as Set<ErrorKind>).add("unavailable");
  failure.message += "; an earlier attempt had no reply and may have taken effect";
}

/** What a worker reports when a handler threw; `cause` is what it threw. */
export class AttemptError extends HoldpointError {
  override name = "AttemptError";
  readonly runId: string;
  /** Counts the attempts that failed so far. */
  readonly attempt: number;
  /** The run has failed, and is not retried. */
  readonly last: boolean;

  constructor(runId: string, attempt: number, last: boolean, text: string, cause: unknown) {
    super([], `run ${runId}: attempt ${Math.max(attempt, 1)} failed${last ? ", which was the last" : ", to be retried"}: ${text}`, { cause });
    this.runId = runId;
    this.attempt = attempt;
    this.last = last;
  }
}

/** @internal What a worker reports about a run: an error of the same kinds, with `cause`. */
export function ofRun(runId: string, what: string, cause: unknown): HoldpointError {
  const kinds = cause instanceof HoldpointError ? cause.kinds : [];
  return new HoldpointError(kinds, `run ${runId}: ${what}: ${messageOf(cause)}`, { cause });
}

/** @internal The text of what a handler threw, which may be anything: an object without a prototype cannot be made a string. */
export function messageOf(thrown: unknown): string {
  try {
    const text: unknown = thrown instanceof Error ? thrown.message || thrown.name : thrown;
    return String(text);
  } catch {
    return "failed without a text";
  }
}

/** Returns the error of an argument that was refused before anything was sent. */
export function invalid(message: string, options?: ErrorOptions): HoldpointError {
  return new HoldpointError(["invalid"], message, options);
}

/** Whether the same call may succeed later. */
export function isTransient(thrown: unknown): boolean {
  return isKind(thrown, "unavailable") || isKind(thrown, "rate_limited");
}
