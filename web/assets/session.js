// The page of a session, and of a run: pending requests, and what happened in it.

import { html, useEffect, useMemo, useReducer, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { call, failureWords, get, isPassing, newKey, path, retryIn } from "./api.js";
import { Confirm, Failure, Guarded, useRead } from "./components.js";
import { InputView } from "./content.js";
import { describe } from "./kinds.js";
import { conversation, isRedacted, nameOf, readEvents, saysOf, undelivered } from "./conversation.js";
import { encode, pretty, read, textOf } from "./exact.js";
import { nameOfAgent, shortID } from "./groups.js";
import { titleOf } from "./headings.js";
import { ID, nameOfSession, ReadSessionName, runAddress, sessionAddress } from "./ids.js";
import { isMine, nowMs, promptOf } from "./inbox.js";
import { LinkRow } from "./link_row.js";
import { marked } from "./marks.js";
import { askingSession, Time, whyOf } from "./row.js";
import { followEvents } from "./run_events.js";
import { useClock } from "./ticks.js";
import { When } from "./when.js";
import { person, reasonOf, roughly, settledWords, standing } from "./words.js";

const shownAtOnce = 200; // events
const mostFollowed = 2000; // the oldest leave the page when others come

const unshown = html`<li class="line-of">This entry cannot be shown.</li>`;
const words = status => status.replaceAll("_", " ");

// Standing is how a run stands, as time goes on.
const Standing = ({ run }) => html`${useClock(now => standing(run, now).status)}`;

function Facts({ facts }) {
  return html`<dl class="details">${facts.filter(([, value]) => value).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

// Waiting lists the pending requests of a session and of the sessions below it. A request of another session says which.
function Waiting({ id }) {
  const asked = "?page=true&limit=100&fields=summary&session_id=" + encodeURIComponent(id);
  const approvals = useRead("/v1/approvals" + asked, 5000), questions = useRead("/v1/questions" + asked, 5000);
  const more = [approvals, questions].some(({ data }) => data?.pagination.has_more), error = approvals.error ?? questions.error;
  const list = [["approval", approvals], ["question", questions]].flatMap(([kind, { data }]) => (data?.items ?? []).map(view => promptOf(view, kind)));
  const other = one => [askingSession(one) || one.session].find(session => session !== id);
  const why = one => html`${other(one) && html`<span class="asker">asked by ${marked(shortID(other(one)))}</span> · `}${marked(whyOf(one))}`;
  return html`<${Failure} error=${error} />${list.length > 0 && html`<h2>Waiting now <span class="n">${list.length}${more && "+"}</span></h2><ul class="still-rows" aria-label="Waiting now">${list.map(one => html`<${LinkRow} key=${one.handle} one=${one} why=${why(one)} tail=${html`<${Time} calls=${[one]} />`} />`)}</ul>
    ${more && html`<p class="more-line"><a href=${"/?q=" + encodeURIComponent(id)}>All of them in the inbox</a></p>`}`}`;
}

// Said is one line of the conversation. The input that stands above the page is not repeated.
function Said({ item, above }) {
  const time = html`<${When} ms=${item.atMs} />`;
  switch (item.kind) {
    case "input":
      if (item.run === above) return html`<li class="line-of">${time} Input of the run, shown above</li>`;
      return html`<li class="input"><p class="speaker">Input of the run ${time}</p><blockquote>${marked(item.text)}</blockquote></li>`;
    case "output": return html`<li class="output"><p class="speaker">The agent ${time}</p><blockquote>${marked(item.text)}</blockquote></li>`;
    case "line": return html`<li class="line-of">${time} ${marked(item.what)}${item.text && html` <span class="quiet">${marked(item.text)}</span>`}</li>`;
  }
  const { resolution } = item, one = promptOf(item.view, item.of, resolution);
  const why = resolution ? html`${marked(settledWords(one.kind, resolution, nowMs(), isMine(one.handle), false))}${reasonOf(resolution) && marked(` · “${reasonOf(resolution)}”`)}` : item.redacted ? "Its decision was redacted" : html`<b>Waiting for a decision</b>`;
  return html`<${LinkRow} one=${one} why=${why} tail=${time} />`;
}

// useEvents returns the newest events of a session, those that come while the page is open, and on demand earlier ones:
// {events, error, earlier}. earlier is undefined when the first is there. A read that failed is repeated by itself;
// one of earlier events is left to the person, because it would hold up those that come.
function useEvents(id, last) {
  const [goal, reach] = useState(() => Math.max(0, last - shownAtOnce)); // the events after this number
  const [{ events, from, to, error, failures = 0 }, keep] = useState({ from: goal, to: goal });
  const [round, repeat] = useReducer(n => n + 1, 0);
  const reading = useRef(false); // one read at a time, which events that come meanwhile do not stop
  useEffect(() => {
    const older = goal < from, [after, until] = older ? [goal, from] : [to, last];
    if (reading.current || events && after >= until) return;
    reading.current = true;
    readEvents((after, limit) => get(`${path("sessions", id, "events")}?limit=${limit}&after=${after}`), after, until).then(read => {
      if (older) return keep({ events: [...read, ...events ?? []], from: goal, to });
      const all = [...events ?? [], ...read], kept = all.slice(-Math.max(mostFollowed, events?.length ?? 0));
      const left = kept.length < all.length ? Number(kept[0].id) - 1 : from;
      if (left > from) reach(left);
      keep({ events: kept, from: left, to: until });
    }).catch(error => {
      reach(from);
      if (older) keep({ events, from, to, error: "The earlier events could not be read." });
      else keep({ events, from, to, error: failureWords(error), failures: isPassing(error) ? failures + 1 : 0 });
    }).finally(() => { reading.current = false; });
  }, [goal, last, from, to, round]);
  useEffect(() => {
    if (failures === 0) return;
    const timer = setTimeout(repeat, retryIn(failures));
    return () => clearTimeout(timer);
  }, [failures]);
  return { events, error, earlier: events && from > 0 ? () => reach(Math.max(0, from - shownAtOnce)) : undefined };
}

function Conversation({ id, last, runs, above }) {
  const { events, error, earlier } = useEvents(id, last);
  const drawn = useMemo(() => { // not with every event of the inbox: it may have thousands of lines
    const items = events ? conversation(events, runs) : [];
    return items.length > 0 ? html`<ol class="conversation" aria-label="Conversation">${items.map(item => html`<${Guarded} key=${item.key} instead=${unshown}><${Said} item=${item} above=${above} /><//>`)}</ol>` : html`<p class="quiet">Nothing happened in it yet.</p>`;
  }, [events, runs, above]);
  return html`<h2>Conversation</h2><${Failure} error=${error} />${earlier && html`<p><button onClick=${earlier}>Earlier</button></p>`}${events && drawn}`;
}

const Task = ({ text }) => text && html`<blockquote class="task" aria-label="Input of the run">${marked(text)}</blockquote>`;

// TaskOf shows the input of a run that is not among the newest ones.
function TaskOf({ id }) {
  const { data } = useRead(path("runs", id));
  return html`<${Task} text=${data?.request?.text_preview} />`;
}

export function Session({ id }) {
  const { data, error } = useRead(path("sessions", id), 5000);
  const runs = useRead("/v1/runs?limit=100&session_id=" + encodeURIComponent(id), 5000);
  const letters = useRead(path("sessions", id, "mailbox", "dead-letter"));
  const [detailed, detail] = useState(false);
  const parent = data?.parent_session_id;
  const list = runs.data ?? [], current = data?.active_run?.run_id ?? data?.queued_run_ids[0], shown = current ? list.find(run => run.run_id === current) : list.at(-1);
  return html`<h1>${marked(nameOfSession(id, data))}</h1><${Failure} error=${error} />${data && html`
    <p class="meta dotted"><span class="status">${data.status === "running" && shown?.status === "running" ? html`<${Standing} run=${shown} />` : words(data.status)}</span><span title=${data.agent_id}>${marked(nameOfAgent(data.agent_id))}</span>${data.origin && html`<span>${marked([data.origin.directory, data.origin.host].filter(Boolean).join(" on "))}</span>`}${parent && html`<span>below <${ReadSessionName} id=${parent} /></span>`}
      ${data.queued_run_ids.length > 0 && html`<span>${data.queued_run_ids.length} queued</span>`}</p>
    ${shown ? html`<${Task} text=${shown.request?.text_preview} />` : current && runs.data && html`<${TaskOf} key=${current} id=${current} />`}
    <${Waiting} id=${id} />
    <${Conversation} key=${id} id=${id} last=${Number(data.last_event_id)} runs=${list} above=${shown?.run_id ?? current} />
    ${letters.data?.messages?.length > 0 && html`<h2>Dead letters</h2><pre class="json"><code>${marked(pretty(read(encode(letters.data.messages))))}</code></pre>`}
    <p class="more-line"><button type="button" class="link" aria-expanded=${String(detailed)} onClick=${() => detail(!detailed)}>Details</button><a href=${"/history?session_id=" + encodeURIComponent(id)}>Decisions in this session</a></p>
    ${detailed && html`<${Facts} facts=${[["Session", html`<${ID} id=${id} />`], ["Active run", data.active_run && html`<${ID} id=${data.active_run.run_id} to=${runAddress(data.active_run.run_id)} />`],
      ["Runs", list.length > 0 && list.map(one => html`<div><${Standing} run=${one} />, <${When} ms=${one.submitted_at_ms} /> <${ID} id=${one.run_id} to=${runAddress(one.run_id)} /></div>`)]]} />`}`}`;
}

const said = { __proto__: null, accepted: "accepted", queued: "queued", started: "started", completed: "completed", failed: "failed", cancelled: "cancelled", interrupted: "interrupted", output: "output", waiting_for_approval: "waits for approval", waiting_for_user_question: "waits for an answer", request_acknowledged: "looking" };

function EventLine({ entry }) {
  const { event } = entry;
  let more = "";
  if (isRedacted(entry)) more = "redacted";
  else if (event.type === "approval_resolved") more = (event.resolutions ?? []).map(one => settledWords("approval", one, nowMs(), false)).join("; ");
  else if (event.type === "user_question_resolved" || event.type === "parent_clarification_resolved") more = event.resolution ? settledWords("question", event.resolution, nowMs(), false) : "";
  else if (event.type === "waiting_for_approval") more = (event.requests ?? []).map(one => one.tool_name).join(", ");
  else if (event.type === "request_acknowledged") more = `by ${person(event.by)}${event.state === "none" ? ", taken back" : event.state === "snoozed" ? ", snoozed" : ""}`;
  else if (event.type === "output") more = event.output ? textOf(event.output.node, "content") ?? "" : "";
  else more = saysOf(event);
  return html`<li><${When} ms=${entry.timestamp_ms} /> <span>${marked(event.type === "notification_failed" && event.who ? undelivered(event) : said[event.type] ?? nameOf(event.type))}</span> ${more && html`<span class="quiet">${marked(more.slice(0, 2000))}</span>`}</li>`;
}

function Timeline({ id }) {
  const [{ events, cut, error }, show] = useState({});
  useEffect(() => followEvents(after => get(`${path("runs", id, "events")}?after=${after}`), show), [id]);
  const drawn = useMemo(() => events && html`<ol class="timeline">${events.map(entry => html`<${Guarded} key=${entry.id} instead=${unshown}><${EventLine} entry=${entry} /><//>`)}</ol>`, [events]);
  return html`<h2>Timeline</h2><${Failure} error=${error} />${cut && html`<p class="quiet">Only the last ${events.length} events are shown.</p>`}${drawn}`;
}

const titleOfWaiting = one => one.tool_name ? describe(one).title : titleOf({ request: one });

export function Run({ id }) {
  const { data, error, reload } = useRead(path("runs", id), 5000);
  const waiting = [...data?.pending_approvals ?? [], ...data?.pending_questions ?? []].map(one => html`<a href=${"/?prompt=" + encodeURIComponent(one.handle)}>${marked(titleOfWaiting(one))}</a> `);
  const asked = useClock(now => data ? `${roughly(now - data.submitted_at_ms)} ago` : ""), says = useClock(now => data ? standing(data, now).says : "");
  return html`<h1>Run of ${marked(data ? nameOfAgent(data.agent_id) : shortID(id))}</h1><${Failure} error=${error} />${data && html`
    <p class="meta dotted"><span class="status"><${Standing} run=${data} /></span><span>in <${ReadSessionName} id=${data.session_id} /></span><${When} ms=${data.submitted_at_ms}>${asked}<//></p>
    ${says && html`<p role="status">${says}</p>`}
    <${Facts} facts=${[["Waiting for", waiting.length > 0 && waiting], ["Submitted", html`<${When} ms=${data.submitted_at_ms} />`], ["Attempt", data.attempt], ["Worker", data.lease && html`${marked(data.lease.worker_id)}, lease ${data.lease.expires_at_ms > nowMs() ? "until" : "ended"} <${When} ms=${data.lease.expires_at_ms} />`], ["Error", data.error && marked(data.error)],
      ["Run", html`<${ID} id=${id} />`], ["Session", html`<${ID} id=${data.session_id} to=${sessionAddress(data.session_id)} />`]]} />
    ${data.request?.text_preview && html`<h2>Input</h2><blockquote class="task">${marked(data.request.text_preview)}</blockquote>`}
    ${data.output !== undefined && html`<h2>Output</h2><${InputView} value=${data.output} />`}
    ${!data.finished_at_ms && html`<${Confirm} label="Cancel run" question="This ends the run and everything it waits for." does=${() => call("POST", path("runs", id, "cancel"), {}, { "Idempotency-Key": newKey() }).then(reload)} />`}
    <${Timeline} key=${id} id=${id} />`}`;
}
