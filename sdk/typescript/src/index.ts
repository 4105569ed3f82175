export * from "./types.js";
export { AttemptError, HoldpointError, ProblemError, UnavailableError, isKind, type ErrorKind } from "./errors.js";
export type { RetryPolicy } from "./retry.js";
export type { CallOptions, HoldpointOptions, KeyedOptions } from "./http.js";
export type { StreamItem, StreamOptions } from "./stream.js";
export {
  Holdpoint,
  type CreatedRun, type Decision, type DecisionListOptions, type EffectListOptions, type EventListOptions, type PageOptions,
  type PendingListOptions, type RunListOptions, type RunResult, type SessionListOptions, type SessionResult, type ShownApproval,
  type ShownQuestion, type WaitOptions,
} from "./client.js";
export { ExactNumber, decodeJSON, encodeJSON } from "./json.js";
export { NotAllowedError, approvalOf, approved, questionOf } from "./approved.js";
export { inputDigest, verifyGrant } from "./grants.js";
export { verifyAnswer } from "./answers.js";
export { Worker, type Handler, type WorkerOptions } from "./worker.js";
export { Task, type ApprovalToAsk, type SuspensionToRaise } from "./task.js";
