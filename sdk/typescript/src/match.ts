import { HoldpointError } from "./errors.js";
import { canonicalJSON } from "./json.js";
import type { ApprovalRequest, SettledApproval, SettledQuestion, UserQuestion, UserQuestionRequest } from "./types.js";

/** An approval or a question that is asked for. */
export type Asked =
  | { approval: ApprovalRequest; question?: never }
  | { question: UserQuestionRequest & { id: string }; approval?: never };

export type SettledRequest = SettledApproval | SettledQuestion;

/** Returns the decision when it was made about what is asked, else throws `id_conflict`. */
export function answers(settled: SettledRequest, asked: Asked): SettledRequest {
  const request = settled.request;
  if ("tool_name" in request) asksTheSame({ approval: request }, asked);
  else asksTheSame({ question: { ...request, id: request.id ?? "" } }, asked);
  return settled;
}

/** Throws `id_conflict` unless both ask the same thing: a decision counts only for what it was made about. */
export function asksTheSame(one: Asked, other: Asked): void {
  if (one.approval && other.approval) {
    if (sameTool(one.approval, other.approval) && canonical(one.approval.input) === canonical(other.approval.input)) return;
  } else if (one.question && other.question && sameQuestion(one.question, other.question)) {
    return;
  }
  throw new HoldpointError(["conflict", "id_conflict"], `request ${(one.approval ?? one.question)!.id} was raised for something else`);
}

/**
 * `asksTheSame` for an open request as a run's view shows it. The view masks the values at sensitive paths, so that only the
 * decision, which has them, can be compared with the input.
 */
export function showsTheSame(shown: Asked, asked: Asked): void {
  if (shown.approval?.sensitive_paths?.length && asked.approval && sameTool(shown.approval, asked.approval)) return;
  asksTheSame(shown, asked);
}

/** Compares the tool and the directory in which it would run. */
function sameTool(a: ApprovalRequest, b: ApprovalRequest): boolean {
  return a.tool_name === b.tool_name && (a.directory ?? "") === (b.directory ?? "");
}

/** Ignores what the service fills in by default: ids, headers, labels that were not given, and the schema of a question with only a kind. */
function sameQuestion(a: UserQuestionRequest, b: UserQuestionRequest): boolean {
  return (a.kind ?? "") === (b.kind ?? "") && canonical(a.payload) === canonical(b.payload) &&
    canonical(schemaOf(a)) === canonical(schemaOf(b)) &&
    sameList(a.questions, b.questions, (x: UserQuestion, y: UserQuestion) =>
      x.question === y.question && (x.multi_select ?? false) === (y.multi_select ?? false) && takesFreeform(x) === takesFreeform(y) &&
      sameList(x.options, y.options, (p, q) => sameIfGiven(p.id, q.id) && sameIfGiven(p.label, q.label) &&
        (p.description ?? "") === (q.description ?? "") && (p.preview ?? "") === (q.preview ?? "")));
}

/** A question with only a kind takes any value. */
function schemaOf(question: UserQuestionRequest): unknown {
  return question.response_schema ?? (question.kind && !question.questions?.length ? true : undefined);
}

function takesFreeform(question: UserQuestion): boolean {
  return question.allow_freeform ?? !question.options?.length;
}

function sameList<T>(a: T[] | undefined, b: T[] | undefined, same: (x: T, y: T) => boolean): boolean {
  const [x, y] = [a ?? [], b ?? []];
  return x.length === y.length && x.every((item, i) => same(item, y[i]!));
}

function sameIfGiven(a: string | undefined, b: string | undefined): boolean {
  return !a || !b || a === b;
}

/** Compares values and not texts. An absent value is null. */
const canonical = (value: unknown): string => canonicalJSON(value ?? null) ?? "null";
