// The decisions of the history: read page by page, searched in the browser, written as CSV.

import { useEffect, useMemo, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { get } from "./api.js";
import { nameOfRow } from "./groups.js";
import { isMine, nowMs, promptOf, searchable } from "./inbox.js";
import { settledWords, way } from "./words.js";

const rowsAtOnce = 100; // that are shown before "Older"; a page of the service has as many
const readAtOnce = 1000; // that are searched for words before "Search older"
const mostExported = 10_000;

function promptOfDecision(view) {
  const one = promptOf(view, view.kind, view.resolution), { reason, rule, resolved_by: by } = view.resolution;
  one.text = [searchable(one), settledWords(one.kind, view.resolution, nowMs(), isMine(one.handle)), by, reason, rule?.text].join("\n").toLowerCase();
  return one;
}

async function readPage(asked, cursor) {
  const page = await get(`/v1/decisions?${asked}&fields=summary&limit=${rowsAtOnce}${cursor && "&cursor=" + encodeURIComponent(cursor)}`);
  return { items: page.items.map(promptOfDecision), cursor: page.pagination.next_cursor ?? "", more: page.pagination.has_more };
}

const wordsOf = text => text.toLowerCase().split(/\s+/).filter(Boolean);
const fits = (one, words) => words.every(word => one.text.includes(word));
const nothingRead = asked => ({ asked, items: [], cursor: "", more: true, error: "" });

// useDecisions returns the newest decisions that the service finds with these parameters and that have all words:
// {list, found, read, more, loading, error, older()}. It reads on until there is a page of them, within a limit.
// list is the part of the found ones that is shown: a word that fits all of them does not fill the document.
export function useDecisions(asked, text) {
  const key = `${asked}\n${text}`, [kept, keep] = useState(() => nothingRead(asked)), [goal, setGoal] = useState({ key });
  const now = kept.asked === asked ? kept : nothingRead(asked);
  const { rows, reads } = goal.key === key && goal.rows ? goal : { rows: rowsAtOnce, reads: readAtOnce };
  const found = useMemo(() => { const words = wordsOf(text); return now.items.filter(one => fits(one, words)); }, [now.items, text]);
  const list = useMemo(() => found.slice(0, rows), [found, rows]);
  const loading = now.more && !now.error && found.length < rows && now.items.length < reads;
  useEffect(() => {
    if (!loading) return;
    let late = false;
    readPage(asked, now.cursor).then(page => { if (!late) keep({ asked, error: "", ...page, items: [...now.items, ...page.items] }); },
      error => { if (!late) keep({ ...now, error: error.message }); });
    return () => { late = true; };
  }, [loading, asked, now.cursor]);
  const older = () => { keep({ ...now, error: "" }); setGoal({ key, rows: list.length + rowsAtOnce, reads: now.items.length + readAtOnce }); };
  return { list, found: found.length, read: now.items.length, more: now.more || found.length > rows, loading, error: now.error, older };
}

// allDecisions reads all of them, at most mostExported: {list, read, cut}. cut says that there are older ones.
export async function allDecisions(asked, text, onRead = () => {}) {
  const words = wordsOf(text), list = [];
  for (let cursor = "", read = 0; ;) {
    const page = await readPage(asked, cursor);
    list.push(...page.items.filter(one => fits(one, words)));
    onRead(read += page.items.length);
    if (!page.more || read >= mostExported) return { list, read, cut: page.more };
    cursor = page.cursor;
  }
}

export const columns = ["time", "outcome", "decided_by", "way", "reason", "kind", "tool", "about", "agent", "session", "label", "project", "run", "request", "rule"];
export const columnsOf = one => [new Date(one.resolution.resolved_at_ms).toISOString(), one.resolution.outcome, one.resolution.resolved_by, way(one.resolution.via), one.resolution.reason,
  one.kind, one.request.tool_name, nameOfRow(one), one.agent, one.session, one.label, one.origin?.project, one.run, one.request.id, one.resolution.rule?.text];
