/**
 * The documents of the service, by the names that its API reference has. They are as on the
 * wire: members in snake_case, times in milliseconds since 1970.
 */
import type { components } from "./openapi.js";

type Schemas = components["schemas"];

export type ApprovalRequest = Schemas["ApprovalRequest"];
export type UserQuestionRequest = Schemas["UserQuestionRequest"];
export type UserQuestion = Schemas["UserQuestion"];
export type QuestionOption = Schemas["QuestionOption"];
export type ApprovalResolution = Schemas["ApprovalResolution"];
export type UserQuestionResolution = Schemas["UserQuestionResolution"];
export type UserQuestionAnswer = Schemas["UserQuestionAnswer"];
export type Resolution = Schemas["Resolution"];
export type Answer = Schemas["Answer"];
export type ClarificationAnswer = Schemas["ClarificationAnswer"];
export type RecordedDecision = Schemas["RecordedDecision"];
export type PendingApprovalRef = Schemas["PendingApprovalRef"];
export type Fault = Schemas["Fault"];
export type Problem = Schemas["Problem"];
export type PendingApproval = Schemas["PendingApprovalView"];
export type PendingQuestion = Schemas["PendingQuestionView"];
export type RequestView = Schemas["RequestView"];
export type RunView = Schemas["RunView"];
export type RunStatus = Schemas["RunStatus"];
export type SessionView = Schemas["SessionView"];
export type SessionSummary = Schemas["SessionSummary"];
export type InboxView = Schemas["InboxView"];
export type RunEventEntry = Schemas["RunEventEntry"];
export type OutputEntry = Schemas["OutputEntry"];
export type OutputPage = Schemas["OutputPage"];
export type Suspension = Schemas["Suspension"];
export type SuspendReply = Schemas["SuspendReply"];
export type Resume = Schemas["Resume"];
export type Settled = Schemas["Settled"];
export type SettledApproval = Schemas["SettledApproval"];
export type SettledQuestion = Schemas["SettledQuestion"];
export type Claim = Schemas["Claim"];
export type HeartbeatReply = Schemas["HeartbeatReply"];
export type MessageView = Schemas["MessageView"];
export type EffectView = Schemas["EffectView"];
export type Rule = Schemas["Rule"];
export type AddRule = Schemas["AddRule"];
export type ExplainRules = Schemas["ExplainRules"];
export type Explanation = Schemas["Explanation"];
export type WorkersView = Schemas["WorkersView"];
export type CreateToken = Schemas["CreateToken"];
export type Token = Schemas["Token"];
export type TokenSecret = Schemas["TokenSecret"];
export type TokenList = Schemas["TokenList"];
export type Me = Schemas["Me"];
export type KeySet = Schemas["KeySet"];
export type Grant = Schemas["Grant"];
export type Redemption = Schemas["Redemption"];
export type StreamTicket = Schemas["StreamTicket"];
export type Version = Schemas["VersionReply"];
export type Pagination = Schemas["Pagination"];
export type CreateRun = Schemas["CreateRun"];
export type CreateSession = Schemas["CreateSession"];
export type AmendSession = Schemas["AmendSession"];
export type AskParent = Schemas["AskParent"];
export type AskParentReply = Schemas["AskParentReply"];
export type InterruptReply = Schemas["InterruptReply"];
export type RequestExplanation = Schemas["RequestExplanation"];
export type RunExplanation = Schemas["RunExplanation"];
export type Webhook = Schemas["Webhook"];
export type WebhookBody = Schemas["WebhookBody"];
export type WebhookList = Schemas["WebhookList"];
export type WebhookSecret = Schemas["WebhookSecret"];
export type WebhookTest = Schemas["WebhookTest"];
export type WebhookReplay = Schemas["WebhookReplay"];
export type ChannelList = Schemas["ChannelList"];
export type ChannelTest = Schemas["ChannelTest"];
export type Address = Schemas["Address"];
export type AddressList = Schemas["AddressList"];
export type PushBody = Schemas["PushBody"];
export type PushView = Schemas["PushView"];
export type QuietHours = Schemas["QuietHours"];
export type QuietHoursView = Schemas["QuietHoursView"];
export type AuditEntry = Schemas["AuditEntry"];
export type AuditList = Schemas["AuditList"];
export type Redacted = Schemas["Redacted"];

/** What a grant says. */
export interface GrantClaims {
  iss: string;
  /** The agent of the run. */
  aud: string;
  /** The run. */
  sub: string;
  request_id: string;
  tool_name: string;
  /** That of the input that may run, after edits and with what is sensitive of it in clear. */
  input_digest: string;
  fence: string;
  /** Seconds since 1970; `exp` is the end of the lease when it was signed. */
  iat: number;
  exp: number;
  /** The handle of the approval: the same in every claim of the run. */
  jti: string;
  resolved_by: string;
  /** The rule by which it was allowed, if one did. */
  rule_id?: string;
}

/** What the signature of an answer says. */
export interface AnswerClaims {
  iss: string;
  /** The agent of the run. */
  aud: string;
  /** The run. */
  sub: string;
  request_id: string;
  /** That of the answers and the value, with what is sensitive in clear. */
  answers_digest: string;
  fence: string;
  /** Seconds since 1970; `exp` is the end of the lease when the answer was read. */
  iat: number;
  exp: number;
  /** The handle of the question. */
  jti: string;
  /** Who answered. */
  resolved_by: string;
}

/** One page of a list. */
export interface Page<T> {
  items: T[];
  pagination: Pagination;
}

/** The statuses of a run that is over. */
const terminal: readonly string[] = ["completed", "failed", "interrupted", "cancelled"];

/** Whether a run in this status is over. */
export function isTerminal(status: string): boolean {
  return terminal.includes(status);
}

/** Whether a run in this status waits for a person. */
export function isWaiting(status: string): boolean {
  return status === "waiting_for_approval" || status === "waiting_for_user_question";
}
