// What a question is called, and what its payload says besides it.

import { textOf, without } from "./exact.js";

// asking names the member of a payload that asks, undefined where there is none.
const asking = node => ["question", "message"].find(name => textOf(node, name));

// asksOf returns the question of a request whose answer a schema types.
export const asksOf = ({ payload }) => payload && textOf(payload.node, asking(payload.node));

// besidesOf returns the tree of what a payload says besides the question of the page, undefined for nothing.
export function besidesOf({ payload, questions }) {
  if (!payload) return undefined;
  const { node } = payload, asks = questions?.length ? undefined : asking(node), rest = asks ? without(node, asks) : node;
  return rest.kind === "object" && rest.members.length === 0 ? undefined : rest;
}

// headerOf is the header of the ith question, "" for "Question 1" of the first, which the service gives to one without.
export const headerOf = (asked, i = 0) => asked?.header === `Question ${i + 1}` ? "" : asked?.header ?? "";

export function headingOf({ request }) {
  const { questions = [] } = request;
  return headerOf(questions[0]) || (questions.length > 1 ? `${questions.length} questions` : questions[0]?.question) || asksOf(request) || request.tool_name || "Question";
}

const longestTitle = 120;

// titleOf is the heading above a question. A long question without a header stands below "Question".
export function titleOf(one) {
  const heading = headingOf(one), whole = heading !== headerOf(one.request.questions?.[0]) && heading === questionOf(one);
  return whole && (heading.length > longestTitle || heading.includes("\n")) ? "Question" : heading;
}

// questionOf is what it asks.
export const questionOf = one => one.request.questions?.[0]?.question || asksOf(one.request) || headingOf(one);
