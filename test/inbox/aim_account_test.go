//go:build unix && browser

package inbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// aimScript gives the page a clock that stands still between the moves of a test, so that a slow machine plays the
// same game as a fast one. It records where everything stands and which decisions the page sends.
const aimScript = `(() => {
	const {fetch: send, setTimeout: later, clearTimeout: clear} = globalThis;
	const timers = new Map();
	let now = 1000, last = 1e9;
	performance.now = () => now;
	const keep = (does, ms, every) => { timers.set(++last, {does, due: now + ms, every}); return last };
	globalThis.setInterval = (does, ms) => keep(does, ms, ms);
	globalThis.clearInterval = id => { timers.delete(id) };
	// Short timers let the page draw. Timers of 10 s or more give up slow connections.
	globalThis.setTimeout = (does, ms = 0, ...rest) => ms >= 10000 ? ++last : ms >= 300 ? keep(() => does(...rest), ms, 0) : later(does, ms, ...rest);
	globalThis.clearTimeout = id => { if (!timers.delete(id)) clear(id) };
	const handleOf = element => element?.closest?.("[data-handle]")?.dataset.handle ?? "";
	const looks = [], sent = [], said = [];
	let calls = 0, changed = false;
	const look = () => {
		const active = document.activeElement;
		looks.push({
			t: now, focus: handleOf(active), bulk: !!active?.closest?.(".bulk"),
			field: !!active?.matches?.("input:not([type=checkbox]):not([type=radio]), textarea"),
			chosen: [...document.querySelectorAll("[data-handle] input[type=checkbox][aria-label^=Select]:checked")].map(handleOf),
			boxes: [...document.querySelectorAll(".bulk button, [data-handle] button, [data-handle] input, [data-handle] textarea, .tidy button, [data-handle]")].map(one => {
				const {left, top, right, bottom} = one.getBoundingClientRect();
				return {
					handle: one.closest(".bulk") ? "bulk" : handleOf(one), label: one.matches("button") ? one.textContent : "", kind: one.localName,
					field: one.matches("input:not([type=checkbox]):not([type=radio]), textarea") && !one.readOnly, left, top, right, bottom,
				};
			}),
		});
	};
	// A person sees each change when it is drawn. On a busy machine that may be after the page seemed to be at rest, for
	// example when the click of a tap comes late.
	const seen = () => {
		if (changed) return;
		changed = true;
		requestAnimationFrame(() => later(() => { changed = false; look() }));
	};
	new MutationObserver(seen).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
	addEventListener("scroll", seen, true);
	globalThis.aim = {
		// A timer that was due in between runs at the end, as one does on a busy machine.
		pass(ms) {
			now += ms;
			for (const [id, timer] of [...timers]) {
				if (timer.due > now || !timers.has(id)) continue;
				if (timer.every) timer.due = now + timer.every; else timers.delete(id);
				timer.does();
			}
			return "";
		},
		async state() {
			await new Promise(done => requestAnimationFrame(() => later(done)));
			look();
			return JSON.stringify({
				title: document.title, path: location.pathname, calls, looks: looks.splice(0), sent: sent.splice(0), said: said.splice(0),
				ready: !!document.querySelector(".list, .empty") && !document.querySelector("[aria-busy]"),
			});
		},
	};
	const noted = (path, body) => {
		const cancelled = path.match(/\/questions\/([^/]+)\/cancel$/)?.[1];
		if (cancelled) return [{id: decodeURIComponent(cancelled), verb: "End"}];
		if (!/\/(approvals|questions)$/.test(path)) return [];
		const {resolutions, resolution} = JSON.parse(body);
		return (resolutions ?? [resolution]).map(one => ({id: one.request_id, verb: {allow: "Allow", deny: "Deny"}[one.behavior] ?? (one.declined ? "Decline" : "Answer")}));
	};
	globalThis.fetch = async (to, options) => {
		if (String(to).startsWith("/v1/stream")) return send(to, options);
		if (options?.method === "POST") for (const one of noted(to, options.body)) sent.push({t: now, ...one});
		const about = options?.method === "PUT" && String(to).match(/\/requests\/([^/]+)\/acknowledgement$/)?.[1];
		if (about) said.push({handle: decodeURIComponent(about), state: JSON.parse(options.body).state});
		calls++;
		try {
			const answer = await send(to, options), text = await answer.text();
			return new Response(text || null, answer);
		} finally { later(() => calls--) }
	};
})()`

// look is where everything stood at a moment.
type look struct {
	T      float64  `json:"t"`
	Focus  string   `json:"focus"`
	Bulk   bool     `json:"bulk"`
	Field  bool     `json:"field"`
	Chosen []string `json:"chosen"`
	Boxes  []box    `json:"boxes"`
}

// box is a prompt, or something in one that can be pressed. Handle is "bulk" in the bar for several prompts.
type box struct {
	Handle string  `json:"handle"`
	Label  string  `json:"label"`
	Kind   string  `json:"kind"`
	Field  bool    `json:"field"`
	Left   float64 `json:"left"`
	Top    float64 `json:"top"`
	Right  float64 `json:"right"`
	Bottom float64 `json:"bottom"`
}

func (b *box) holds(x, y float64) bool {
	return x >= b.Left && x < b.Right && y >= b.Top && y < b.Bottom
}

// under returns the button at a place, or the prompt if there is none. Later elements of the
// document cover earlier ones.
func (l *look) under(x, y float64) *box {
	for i := len(l.Boxes) - 1; i >= 0; i-- {
		if l.Boxes[i].holds(x, y) {
			return &l.Boxes[i]
		}
	}
	return nil
}

// reached are what a press at a place reaches: what is under it, and for a finger also what is next to it.
func (l *look) reached(p press, finger bool) []*box {
	reached := []*box{l.under(p.x, p.y)}
	if finger {
		const near = 2 // px; the browser presses the button at the edge of which a finger is
		reached = append(reached, l.under(p.x, p.y-near), l.under(p.x, p.y+near), l.under(p.x-near, p.y), l.under(p.x+near, p.y))
	}
	return reached
}

// prompts are those that a box decides about.
func (l *look) prompts(at *box) []string {
	switch {
	case at == nil:
		return nil
	case at.Handle == "bulk":
		return l.Chosen
	}
	return []string{at.Handle}
}

// press is the person's last action.
type press struct {
	t, x, y float64
	key     string // empty for a pointer
}

// isText reports whether a key writes a letter into a field.
func (p press) isText() bool { return len(p.key) == 1 && strings.Trim(p.key, "\t\r ") != "" }

// sent is a decision sent by the page.
type sent struct {
	T    float64 `json:"t"`
	ID   string  `json:"id"`
	Verb string  `json:"verb"`
}

// said is what the person said about a request without a decision.
type said struct {
	Handle string                   `json:"handle"`
	State  api.AcknowledgementState `json:"state"`
}

type pageState struct {
	Title string `json:"title"`
	Path  string `json:"path"`
	Calls int    `json:"calls"`
	Ready bool   `json:"ready"`
	Looks []look `json:"looks"`
	Sent  []sent `json:"sent"`
	Said  []said `json:"said"`
}

// aimsBefore is how long before a press the person has chosen its target.
const aimsBefore = 200

// at returns the newest look that is as old as that.
func (s *person) at(t float64) *look {
	for i := len(s.looks) - 1; i >= 0; i-- {
		if s.looks[i].T <= t {
			return &s.looks[i]
		}
	}
	return nil
}

// wrong returns why the person did not mean a decision, or "".
func (s *person) wrong(made sent) string {
	handle, last := s.handles[made.ID], s.last
	if made.T != last.t {
		return fmt.Sprintf("it was sent %.0f ms after the last press", made.T-last.t)
	}
	before := s.at(last.t - aimsBefore)
	if before == nil {
		return "nothing was there to aim at"
	}
	if last.key == "" {
		why := "another prompt, or none, was under the pointer"
		for _, at := range before.reached(last, s.phone) {
			switch {
			case !slices.Contains(before.prompts(at), handle):
			case strings.HasPrefix(at.Label, made.Verb):
				return ""
			default:
				why = fmt.Sprintf("%s %q was under the pointer", at.Kind, at.Label)
			}
		}
		return why
	}
	if last.isText() && before.Field && s.left.t <= before.T {
		return "the person was typing into a field"
	}
	aimed := []string{before.Focus}
	if before.Bulk {
		aimed = before.Chosen
	}
	// The focus is where the person has pointed since.
	if s.pointed.t > before.T {
		aimed = append(aimed, s.pointedAt...)
	}
	if !slices.Contains(aimed, handle) {
		return "another prompt, or none, had the focus"
	}
	return ""
}

// settled waits until the page is idle and compares it with the service. It returns the first
// decision that the person did not mean. The page runs the script first beforehand.
func (s *person) settled(first string) (fault error) {
	s.page.t.Helper()
	var state pageState
	if first == "" {
		first = "0"
	}
	s.page.until("a page at rest", func() bool {
		text := s.page.await("(" + first + "), aim.state()")
		first = "0"
		state = pageState{}
		require.NoError(s.page.t, json.Unmarshal([]byte(text), &state))
		s.looks = append(s.looks, state.Looks...)
		if old := len(s.looks) - 500; old > 0 {
			s.looks = slices.Delete(s.looks, 0, old)
		}
		for _, made := range state.Sent {
			if why := s.wrong(made); why != "" {
				fault = fmt.Errorf("%s %s was decided, but %s %d ms before; the last moves:\n%s", made.Verb, made.ID, why, aimsBefore, strings.Join(s.log[max(0, len(s.log)-25):], "\n"))
			}
			s.log = append(s.log, "decides "+made.Verb+" "+made.ID)
			s.gone(made.ID)
			s.decided++
		}
		for _, one := range state.Said {
			s.log = append(s.log, fmt.Sprintf("says %s of %s", one.State, one.Handle))
			s.snoozed[one.Handle] = one.State == api.Snoozed
		}
		if state.Path != "/" {
			return state.Calls == 0
		}
		counted := 0 // a snoozed request is not
		for _, id := range s.open {
			if !s.snoozed[s.handles[id]] {
				counted++
			}
		}
		want := "holdpoint"
		if counted > 0 {
			want = fmt.Sprintf("(%d) holdpoint", counted)
		}
		return fault != nil || state.Ready && state.Calls == 0 && state.Title == want
	})
	if fault == nil && state.Path != "/" {
		s.log = append(s.log, "was at "+state.Path)
		return s.load()
	}
	return fault
}
