// The prompt that is open, whole, with the bar in which it is decided.

import { html, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { AllowAnd } from "./allow_and.js";
import { bytes, unfold } from "./approval.js";
import { AskSame } from "./ask_same.js";
import { Bar } from "./bar.js";
import { Before } from "./before.js";
import { Copy, Guarded } from "./components.js";
import { Content } from "./content.js";
import { EditForm } from "./edit.js";
import { focusedByKey, focusedByPage, opens, resized, scrolled, shifted } from "./guard.js";
import { about, nameOfAgent, shortID } from "./groups.js";
import { changed, isMine, lookUp, nowMs, open } from "./inbox.js";
import { Beginning, Part } from "./json.js";
import { isShort, withoutFolder } from "./kinds.js";
import { titleOf } from "./headings.js";
import { marked, plain } from "./marks.js";
import { Hints } from "./hints.js";
import { ID } from "./ids.js";
import { Looking } from "./looking.js";
import { viewing } from "./presence.js";
import { QuestionFields } from "./question.js";
import { AllowedInput } from "./recorded.js";
import { setQuery } from "./route.js";
import { askerOf, askingSession, outcomeOf } from "./row.js";
import { labelOf, waitsElsewhere } from "./same_call.js";
import { isNarrow, isRoomy } from "./screen.js";
import { afterPaint, atEnd, leave, look, readsToEnd } from "./seen.js";
import { focusPrompt, nextOpen, openCalls, place, rowIndex, visible } from "./shown.js";
import { useClock } from "./ticks.js";
import { When } from "./when.js";
import { deadlineWords, dueWords, fullDeadline, fullTime, reasonOf, roughly, spoken } from "./words.js";

const longTitle = 80; // characters; the name of a tool may have 200
const smallBytes = 16 << 10; // an input up to this size is read whole at once

const layoutOf = element => [...element?.querySelectorAll(".asked [data-part]") ?? []].map(part => [part.dataset.part, part.offsetTop, part.offsetHeight]).join();

// useReading keeps what was read of a prompt, while it is in the detail. What was read is also learnt elsewhere:
// when another prompt with the same text leaves, or when a dialog counts what was read. So what counts is what the
// button said when it was drawn.
function useReading(one, box) {
  const [, tick] = useReducer(n => n + 1, 0);
  const again = useRef(), drawn = useRef(), layout = useRef(), unpainted = useRef(0);
  drawn.current = readsToEnd(one);
  const changes = () => {
    const asked = box.current?.querySelector(".asked");
    if (!asked || one.kind !== "approval" || one.resolution) return false;
    look(one, asked, unpainted.current === 0);
    return readsToEnd(one) !== drawn.current;
  };
  again.current = () => {
    if (!changes()) return;
    shifted(one.handle);
    tick();
  };
  // The first layouts of a long text, and of what is unfolded, are replaced before they are painted. A page that is drawn
  // again and again lays out nothing new.
  const laidOut = () => { unpainted.current++; afterPaint(() => { unpainted.current--; again.current(); }); };
  useLayoutEffect(() => {
    const now = layoutOf(box.current);
    if (now !== layout.current) { layout.current = now; laidOut(); }
    if (changes()) tick();
  });
  useEffect(() => {
    const look = () => again.current(), scroll = () => { scrolled(); look(); }, resize = () => { laidOut(); look(); };
    const element = box.current, timer = setInterval(look, atEnd);
    element.addEventListener("scroll", scroll, { passive: true });
    addEventListener("resize", resize);
    document.addEventListener("visibilitychange", look);
    const sizes = new ResizeObserver(() => resized(one.handle));
    for (const child of element.children) sizes.observe(child);
    return () => {
      element.removeEventListener("scroll", scroll);
      removeEventListener("resize", resize);
      document.removeEventListener("visibilitychange", look);
      clearInterval(timer);
      sizes.disconnect();
      leave(one);
    };
  }, [one.handle, one.digest]);
}

// useBarred asks who may allow an approval that excludes who asked for it.
function useBarred(one) {
  useEffect(() => {
    if (one.kind !== "approval" || one.barred !== undefined || one.resolution) return;
    void lookUp(one.handle);
    const again = setInterval(() => void lookUp(one.handle), 5000);
    return () => clearInterval(again);
  }, [one.handle, one.barred, !one.resolution]);
}

function Due({ one }) {
  const text = useClock(now => one.dueMs > now ? dueWords(one, now) : "due now");
  return html`<span class=${"due" + (one.dueMs - nowMs() < 120000 ? " soon" : "")} title=${fullDeadline(one, nowMs())}>${text}</span>`;
}

// Label names the session. On a narrow page it stands between the crumbs, where it takes no line of its own.
function Label({ one }) {
  const name = labelOf(one);
  return name && html`<span class="label" dir="auto" title=${plain(name)}>${marked(name)}</span>`;
}

function Meta({ one }) {
  const found = about(one), folder = found.folder?.text || one.origin?.directory, asked = useClock(now => `asked ${roughly(now - one.createdMs)} ago`);
  const tool = one.kind === "approval" && !found.title.startsWith("Use ") && one.request.tool_name;
  return html`<p class="meta"><span title=${one.agent}>${marked(nameOfAgent(one.agent))}</span>${!isNarrow() && html`<${Label} one=${one} />`}${askerOf(one) && html`<a href=${"/sessions/" + encodeURIComponent(askingSession(one))} title=${askingSession(one)}>${marked(askerOf(one))}</a>`}${folder && html`<span>in ${marked(folder)}</span>`}${tool && html`<span>with ${marked(tool)}</span>`}
    <${When} ms=${one.createdMs}>${asked}<//></p>`;
}

function Details({ one }) {
  const { request } = one, [shown, show] = useState(false);
  const toggle = () => { opens(one.handle); show(!shown); };
  return html`<p class="more-line"><button type="button" class="link" aria-expanded=${String(shown)} onClick=${toggle}>Details</button>
      <${Copy} text=${`${location.origin}/?prompt=${encodeURIComponent(one.handle)}`}>Copy link<//>
      ${request.input && !request.input_truncated && html`<${Copy} text=${request.input.text}>Copy JSON<//>`}
      <a href=${"/sessions/" + encodeURIComponent(one.session)}>Open session</a></p>
    ${shown && html`<dl class="details">
    <dt>Run</dt><dd><${ID} id=${one.run} to=${"/runs/" + encodeURIComponent(one.run)} /></dd>
    ${one.label && html`<dt>Label</dt><dd>${marked(one.label)}</dd>`}
    ${one.origin && html`<dt>Where</dt><dd>${marked([one.origin.project, one.origin.directory, one.origin.host].filter(Boolean).join(" · "))}</dd>`}
    <dt>Session</dt><dd><${ID} id=${one.session} to=${"/sessions/" + encodeURIComponent(one.session)} /></dd>
    ${one.parent && html`<dt>Parent session</dt><dd><${ID} id=${one.parent} to=${"/sessions/" + encodeURIComponent(one.parent)} /></dd>`}
    <dt>Request</dt><dd><${ID} id=${request.id} /></dd>
    ${request.scope && html`<dt>Scope</dt><dd>${marked(request.scope)}</dd>`}
    ${request.pattern_keys?.length > 0 && html`<dt>Patterns</dt><dd>${request.pattern_keys.map(key => html`<code>${marked(key)}</code> `)}</dd>`}
    ${one.requester && html`<dt>Asked by</dt><dd>session <a href=${"/sessions/" + encodeURIComponent(one.requester)}>${shortID(one.requester)}</a></dd>`}
    <dt>Since</dt><dd><${When} ms=${one.createdMs} /></dd>
    ${one.dueMs > 0 && html`<dt>Deadline</dt><dd title=${fullTime(one.dueMs)}>${deadlineWords(one, nowMs())}</dd>`}
    ${request.input_digest && html`<dt>Digest</dt><dd><${ID} id=${request.input_digest} /></dd>`}</dl>`}`;
}

// foldOf is what a person has folded in an input: files of a patch, levels of JSON.
function foldOf(one) {
  const does = change => { opens(one.handle); change(); changed(); };
  return {
    level: one.level ?? Infinity, toLevel: level => does(() => { one.level = level; }),
    isShut: n => !!one.shut?.has(n), toggle: n => does(() => { if (!(one.shut ??= new Set()).delete(n)) one.shut.add(n); }),
  };
}

// Input shows the input of a call. Of a huge input the beginning is shown until the whole is asked for. It is drawn once, not
// with every event: comparing the texts of an edit takes long.
function Input({ one, wrap }) {
  const { request } = one, cut = request.input_truncated, found = about(one);
  const drawn = useMemo(() => !cut && html`<${Content} about=${withoutFolder(found)} request=${request} wrap=${wrap} fold=${foldOf(one)} />`,
    [found, cut, one.unfolded, one.level, [...one.shut ?? []].join(), isRoomy()]);
  useEffect(() => { if (cut && bytes(one) <= smallBytes && !one.resolution) void unfoldQuietly(one); }, [cut]);
  if (!cut) return drawn;
  return html`<${Beginning} one=${one} text=${request.input.node.value} bytes=${bytes(one)} label="The beginning of the input" unfold=${() => void unfold(one)} />`;
}

async function unfoldQuietly(one) {
  await unfold(one);
  one.unfolded = false;
}

// Asked is what the agent said: nothing in it can look like the page's own words.
function Asked({ one }) {
  const { reason, description, directory } = one.request;
  const wrap = (text, shut = false) => text && html`<${Part} one=${one} shut=${shut} unfold=${() => void unfold(one)}>${text}<//>`;
  return html`<div class="asked" role="group" aria-label="From the agent">
    ${one.changed && html`<p class="changed-input">The input has changed since you read it.</p>`}
    ${directory && !isShort(directory) && wrap(html`<blockquote>In ${marked(directory)}</blockquote>`)}
    ${[reason, description, ...(about(one).said ?? [])].filter(spoken).map(text => wrap(html`<blockquote>${marked(text)}</blockquote>`))}
    <${Hints} request=${one.request} />
    <${Input} key=${one.digest} one=${one} wrap=${wrap} /></div>`;
}

const looksUpAfter = 400; // milliseconds that a prompt is open before the service is asked about its equals

// SameCall says that the call waits elsewhere too. The service may know of more than the page has; it is asked again
// where the page has others.
function SameCall({ one }) {
  const asks = one.digest && !one.resolution;
  const others = asks ? open().filter(other => other !== one && other.digest === one.digest && other.request.tool_name === one.request.tool_name) : [];
  const known = others.map(other => other.handle).join(), [beyond, setBeyond] = useState(0);
  useEffect(() => {
    if (!asks) return;
    let late = false;
    const timer = setTimeout(async () => {
      const view = await lookUp(one.handle);
      if (!late) setBeyond(Math.max(0, (view?.same_as_open ?? 0) - others.length));
    }, looksUpAfter);
    return () => { late = true; clearTimeout(timer); };
  }, [one.handle, asks, known]);
  const text = asks && waitsElsewhere(openCalls(one).filter(other => other !== one), others, beyond);
  return text && html`<p class="quiet">${marked(text)}</p>`;
}

// Crumbs lead back to the list from a prompt that is a page of its own.
function Crumbs({ one }) {
  if (location.pathname === "/history") return html`<p class="crumbs"><button type="button" class="link" onClick=${() => setQuery({ prompt: "" }, true)}>‹ History</button><${Label} one=${one} /></p>`;
  const list = visible(), at = rowIndex(list, one.handle);
  return html`<p class="crumbs"><button type="button" class="link" onClick=${() => setQuery({ prompt: "" }, true)}>‹ Inbox</button><${Label} one=${one} />${at >= 0 && html`<span>${at + 1} of ${list.length}</span>`}</p>`;
}

// onSnoozed returns what opens the next request when this one has left the list.
function onSnoozed(one) {
  const next = nextOpen(one.handle);
  return () => {
    if (next && next !== one) focusPrompt(next, "page", false);
    else if (isNarrow()) setQuery({ prompt: "" }, true);
  };
}

// LongReason is why somebody decided so, below the rest: the bar has room for two lines.
function LongReason({ one }) {
  const reason = one.resolution && reasonOf(one.resolution);
  return reason && outcomeOf(one).length > (isNarrow() ? 70 : 140) && html`<p class="long-reason"><span class="quiet">Reason of the decision</span>${marked(reason)}</p>`;
}

// Unshown takes the place of a request that cannot be drawn: nobody has read it, so nothing here allows it.
const Unshown = ({ one }) => html`<section id="detail" class="detail" role="region" aria-label="Prompt" tabindex="-1"><div class="inner">
  ${isNarrow() && html`<p class="crumbs"><button type="button" class="link" onClick=${() => setQuery({ prompt: "" }, true)}>‹ Back</button></p>`}
  <p class="error" role="alert">This request cannot be shown on this page, and cannot be decided here.</p><p class="quiet">Request <${ID} id=${one.handle} /></p></div></section>`;

export const Detail = ({ one }) => html`<${Guarded} instead=${html`<${Unshown} one=${one} />`}><${Whole} one=${one} /><//>`;

function Whole({ one }) {
  const box = useRef();
  // Who opens a prompt aims at it. One that opens by itself takes no press at first.
  useLayoutEffect(() => {
    if (place.cause === "page" || place.handle !== one.handle) { shifted(one.handle); focusedByPage(600); }
    else { opens(one.handle); if (place.cause === "key") focusedByKey(); }
    place.cause = "page";
    return () => { one.form = ""; };
  }, []);
  const isOpen = !one.resolution;
  useLayoutEffect(() => isOpen ? viewing(one.handle) : undefined, [one.handle, isOpen]);
  useReading(one, box);
  useBarred(one);
  // Its buttons are about other calls than before.
  const calls = openCalls(one).map(other => other.handle).join(), before = useRef(calls);
  useLayoutEffect(() => { if (before.current !== calls) shifted(one.handle); before.current = calls; }, [calls]);
  const title = one.kind === "question" ? titleOf(one) : about(one).title;
  return html`<section id="detail" class="detail" role="region" aria-label="Prompt" data-handle=${one.handle} tabindex="-1">
    <div class="scroll-detail" ref=${box} tabindex="0"><div class="inner">
      ${isNarrow() && html`<${Crumbs} one=${one} />`}
      <div class="title"><h2 class=${title.length > longTitle ? "long" : ""}>${marked(title)}</h2>${one.dueMs > 0 && !one.resolution && html`<${Due} one=${one} />`}</div>
      <${Meta} one=${one} />
      <${Looking} one=${one} onSnoozed=${onSnoozed} />
      ${one.kind === "approval" ? html`<${Asked} one=${one} />` : html`<${Hints} request=${one.request} /><${QuestionFields} one=${one} />`}
      <${SameCall} one=${one} />
      <${Before} one=${one} />
      <${Details} one=${one} />
      <${LongReason} one=${one} />
      ${one.form === "edit" && !one.barred && html`<${EditForm} one=${one} />`}
      ${!(one.form === "edit" && isMine(one.handle)) && html`<${AllowedInput} one=${one} />`}
      ${one.note && !one.resolution && html`<p class="quiet note">${marked(one.note)}</p>`}
    </div></div>
    <${Bar} one=${one} />
    ${one.form === "rule" && html`<${AllowAnd} one=${one} />`}${one.form === "same" && html`<${AskSame} key=${one.asks.behavior} one=${one} />`}</section>`;
}
