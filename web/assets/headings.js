// What a question is called.

import { textOf } from "./exact.js";

// asksOf returns the question of a request whose answer a schema types.
export const asksOf = request => request.payload && textOf(request.payload.node, "question");

export function headingOf({ request }) {
  return request.questions?.[0]?.header || request.questions?.[0]?.question || asksOf(request) || request.tool_name || "Question";
}

const longestTitle = 120;

// titleOf is the heading above a question. A long question without a header stands below "Question".
export function titleOf(one) {
  const heading = headingOf(one), whole = heading !== one.request.questions?.[0]?.header && heading === questionOf(one);
  return whole && (heading.length > longestTitle || heading.includes("\n")) ? "Question" : heading;
}

// questionOf is what it asks.
export const questionOf = one => one.request.questions?.[0]?.question || asksOf(one.request) || headingOf(one);
