// The decisions of the history: read page by page, searched in the browser, written as CSV.

import { useEffect, useMemo, useReducer, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { failureWords, get, isPassing, retryIn } from "./api.js";
import { nameOfRow } from "./groups.js";
import { isMine, nowMs, onDecisions, promptOf, searchable } from "./inbox.js";
import { nothingRead, withFresh, withNewest } from "./newest.js";
import { hasAll, wordsOf } from "./search.js";
import { settledWords, way } from "./words.js";

const rowsAtOnce = 100; // that are shown before "Older"; a page of the service has as many
const readAtOnce = 1000; // that are searched for words before "Search older"
const mostExported = 10_000;
const looksAfter = 1000; // milliseconds from a decision until the newest page is read, and between two such reads

function promptOfDecision(view) {
  const one = promptOf(view, view.kind, view.resolution), { reason, rule, resolved_by: by } = view.resolution;
  one.text = [searchable(one), settledWords(one.kind, view.resolution, nowMs(), isMine(one.handle)), by, reason, rule?.text].join("\n").toLowerCase();
  return one;
}

async function readPage(asked, cursor) {
  const page = await get(`/v1/decisions?${asked}&fields=summary&limit=${rowsAtOnce}${cursor && "&cursor=" + encodeURIComponent(cursor)}`);
  return { items: page.items.map(promptOfDecision), cursor: page.pagination.next_cursor ?? "", more: page.pagination.has_more };
}

// useNewest reads the newest page again after decisions were made.
function useNewest(now, keep) {
  const last = useRef();
  last.current = now;
  useEffect(() => {
    let late = false, timer = 0, reading = false, again = false, failures = 0;
    const { asked } = last.current;
    const later = ms => { again = false; timer = setTimeout(look, ms); };
    const wants = () => { if (reading) again = true; else if (!timer) later(looksAfter); };
    const look = async () => {
      timer = 0;
      if (last.current.items.length === 0 && last.current.more) { later(looksAfter); return; } // the first page is on its way
      reading = true;
      let wait = looksAfter;
      try {
        const page = await readPage(asked, "");
        failures = 0;
        if (!late) keep(before => before.asked === asked ? withNewest(before, page) : before);
      } catch (error) {
        again ||= isPassing(error);
        wait = retryIn(++failures);
      }
      reading = false;
      if (again && !late) later(wait);
    };
    const stop = onDecisions(wants);
    return () => { late = true; stop(); clearTimeout(timer); };
  }, [now.asked]);
}

// useDecisions returns the newest decisions that the service finds with these parameters and that have all words:
// {list, found, items, more, loading, error, older(), fresh, showFresh(), again()}. It reads on until there is a page of them,
// within a limit. list is the part of the found ones that is shown: a word that fits all of them does not fill the
// document. fresh counts those that were made since, as words; showFresh puts them into the list. items are all that
// were read; again searches them once more.
export function useDecisions(asked, text) {
  const key = `${asked}\n${text}`, [kept, keep] = useState(() => nothingRead(asked)), [goal, setGoal] = useState({ key });
  const now = kept.asked === asked ? kept : nothingRead(asked), [round, again] = useReducer(n => n + 1, 0);
  const { rows, reads } = goal.key === key && goal.rows ? goal : { rows: rowsAtOnce, reads: readAtOnce };
  const found = useMemo(() => { const words = wordsOf(text); return now.items.filter(one => hasAll(one, words)); }, [now.items, text, round]);
  const list = useMemo(() => found.slice(0, rows), [found, rows]);
  const loading = now.more && !now.error && found.length < rows && now.items.length < reads;
  useEffect(() => {
    if (!loading) return;
    let late = false;
    // The list may have been read again meanwhile, or have got what is new.
    const change = does => { if (!late) keep(before => before.asked !== asked ? does(nothingRead(asked)) : before.cursor === now.cursor ? does(before) : before); };
    readPage(asked, now.cursor).then(page => change(before => ({ ...before, ...page, error: "", failures: 0, items: [...before.items, ...page.items] })),
      error => change(before => ({ ...before, error: failureWords(error), failures: isPassing(error) ? before.failures + 1 : 0 })));
    return () => { late = true; };
  }, [loading, asked, now.cursor]);
  // What failed and may pass is read again by itself.
  useEffect(() => {
    if (!now.error || now.failures === 0) return;
    const timer = setTimeout(() => keep(before => before.asked === asked ? { ...before, error: "" } : before), retryIn(now.failures));
    return () => clearTimeout(timer);
  }, [asked, now.error, now.failures]);
  useNewest(now, keep);
  // Who searches for other words looks at another list.
  useEffect(() => keep(withFresh), [text]);
  const older = () => { keep({ ...now, error: "" }); setGoal({ key, rows: list.length + rowsAtOnce, reads: now.items.length + readAtOnce }); };
  const waiting = useMemo(() => { const words = wordsOf(text); return now.fresh.filter(one => hasAll(one, words)).length; }, [now.fresh, text, round]);
  const showFresh = () => { setGoal({ key, rows: rows + waiting, reads: reads + now.fresh.length }); keep(withFresh); };
  return { list, found: found.length, items: now.items, more: now.more || found.length > rows, loading, error: now.error, older, fresh: waiting > 0 ? `${waiting}${now.missed ? "+" : ""}` : "", showFresh, again };
}

// allDecisions reads all of them, at most mostExported: {list, read, cut}. cut says that there are older ones.
export async function allDecisions(asked, text, onRead = () => {}) {
  const words = wordsOf(text), list = [];
  for (let cursor = "", read = 0; ;) {
    const page = await readPage(asked, cursor);
    list.push(...page.items.filter(one => hasAll(one, words)));
    onRead(read += page.items.length);
    if (!page.more || read >= mostExported) return { list, read, cut: page.more };
    cursor = page.cursor;
  }
}

export const columns = ["time", "outcome", "decided_by", "way", "reason", "kind", "tool", "about", "agent", "session", "label", "project", "run", "request", "rule"];
export const columnsOf = one => [new Date(one.resolution.resolved_at_ms).toISOString(), one.resolution.outcome, one.resolution.resolved_by, way(one.resolution.via), one.resolution.reason,
  one.kind, one.request.tool_name, nameOfRow(one), one.agent, one.session, one.label, one.origin?.project, one.run, one.request.id, one.resolution.rule?.text];
