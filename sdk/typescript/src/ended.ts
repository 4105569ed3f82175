// The errors of a handler that must not go on, and what is recorded when it has ended.
import { HoldpointError, invalid } from "./errors.js";

export function stoppedError(): HoldpointError {
  return new HoldpointError(["worker_stopped"], "the worker is stopping");
}

export function suspendedError(): HoldpointError {
  return new HoldpointError(["suspended"], "the run is suspended; let this error through");
}

export function cancelledError(cause?: unknown): HoldpointError {
  return new HoldpointError(["cancelled"], "the run was cancelled", { cause });
}

export function endedError(): HoldpointError {
  return new HoldpointError(["run_state"], "the handler has ended the run");
}

/** @internal Returns an output or a checkpoint. JSON.stringify would leave out a function and a symbol, as if none was given. */
export function jsonOrNone(given: unknown): unknown {
  if (typeof given === "function" || typeof given === "symbol") throw invalid(`a ${typeof given} has no JSON form`);
  return given;
}

/** Returns a text that the service accepts: whole characters without control characters, at most 16 KiB, not empty. */
export function failureText(text: string): string {
  let cut = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "").replace(/\p{Surrogate}/gu, "\uFFFD");
  const encoded = new TextEncoder().encode(cut);
  if (encoded.length > 16384) cut = new TextDecoder().decode(encoded.subarray(0, 16384)).replace(/\uFFFD+$/, "");
  return cut || "failed without a text";
}
