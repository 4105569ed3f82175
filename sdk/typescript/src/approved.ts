import { HoldpointError } from "./errors.js";
import type { Resolution, Resume, SettledApproval, SettledQuestion } from "./types.js";

/** An approval was settled and does not allow its call; `resolution` says who decided and why. */
export class NotAllowedError extends HoldpointError {
  override name = "NotAllowedError";
  readonly resolution: Resolution;

  constructor(tool: string, resolution: Resolution) {
    const by = resolution.outcome === "denied" && resolution.resolved_by ? ` by ${resolution.resolved_by}` : "";
    super(["not_allowed"], `${tool} was not allowed: ${resolution.outcome}${by}${resolution.reason ? `: ${resolution.reason}` : ""}`);
    this.resolution = resolution;
  }
}

/** Returns the approval with a request id; undefined if the decisions do not include it. */
export function approvalOf(resume: Resume, requestId: string): SettledApproval | undefined {
  return resume.approvals.find((settled) => settled.request.id === requestId);
}

/** Returns the question request with an id; undefined if the decisions do not include it. */
export function questionOf(resume: Resume, requestId: string): SettledQuestion | undefined {
  return resume.questions.find((settled) => settled.request.id === requestId);
}

/**
 * Returns the input that may run, with the approver's edits. Throws a `NotAllowedError` if the
 * approval was denied or has expired; a handler that lets it through fails the run without a retry.
 * Throws another error if no approval has this request id.
 */
export function approved<Input = unknown>(resume: Resume, requestId: string): Input {
  const settled = approvalOf(resume, requestId);
  if (!settled) throw new HoldpointError(["not_found"], `no decision about an approval "${requestId}"`);
  return approvedInput(settled) as Input;
}

/** @internal */
export function approvedInput({ request, resolution }: SettledApproval): unknown {
  if (resolution.outcome !== "allowed" || resolution.behavior !== "allow") throw new NotAllowedError(request.tool_name, resolution);
  return resolution.updated_input === undefined ? request.input : resolution.updated_input;
}
