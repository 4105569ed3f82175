//go:build unix && aim

package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// aimScript notes what is where, and what the page sends. Its clock and intervals go on when the test says so.
const aimScript = `(() => {
	const post = fetch, timers = new Map();
	let last = 0;
	globalThis.setInterval = (does, ms) => { timers.set(++last, {does, ms, due: performance.now() + ms}); return last };
	globalThis.clearInterval = id => { timers.delete(id) };
	const handleOf = element => element?.closest?.("[data-handle]")?.dataset.handle ?? "";
	globalThis.aim = {
		samples: [], sent: [],
		sample() {
			const rects = [...document.querySelectorAll("[data-handle], .bulk")].map(one => {
				const box = one.getBoundingClientRect();
				return [one.dataset.handle ?? "bulk", box.left, box.top, box.right, box.bottom];
			});
			const chosen = [...document.querySelectorAll("[data-handle] input[type=checkbox]:checked")].map(handleOf);
			this.samples.push({t: performance.now(), focus: handleOf(document.activeElement), bulk: !!document.activeElement?.closest?.(".bulk"), rects, chosen});
			return "";
		},
		pass(ms) {
			const until = performance.now() + ms;
			for (const [id, timer] of timers)
				for (let n = 0; timer.due <= until && timers.has(id) && n < 60; n++) { timer.due += timer.ms; timer.does() }
			globalThis.skip += ms;
			return "";
		},
	};
	globalThis.fetch = (to, options) => {
		if (options?.method === "POST" && /\/(approvals|questions)$/.test(to)) {
			const {resolutions, resolution} = JSON.parse(options.body);
			aim.sent.push({t: performance.now(), ids: (resolutions ?? [resolution]).map(one => one.request_id)});
		}
		return post(to, options);
	};
})()`

// aimSample is where prompts were at a moment, and which had the focus.
type aimSample struct {
	T      float64  `json:"t"`
	Focus  string   `json:"focus"`
	Bulk   bool     `json:"bulk"`
	Rects  [][]any  `json:"rects"`
	Chosen []string `json:"chosen"`
}

// under returns the prompts that a press at a place was about: one, or those that were chosen.
func (s *aimSample) under(x, y float64) []string {
	at := func(rect []any) bool {
		return x >= rect[1].(float64) && x < rect[3].(float64) && y >= rect[2].(float64) && y < rect[4].(float64)
	}
	for _, rect := range s.Rects {
		if rect[0] == "bulk" && at(rect) {
			return s.Chosen
		}
	}
	for _, rect := range s.Rects {
		if at(rect) {
			return []string{rect[0].(string)}
		}
	}
	return nil
}

// person is somebody who acts at random in a page in which prompts come and go at random.
type person struct {
	*flows
	page   *page
	random *rand.Rand
	x, y   float64
	// handles are by the id of a request; open are the ids.
	handles map[string]string
	runs    map[string]string
	open    []string
	log     []string
	decided int
}

// TestDecisionsAreAboutWhatWasAimedAt lets prompts arrive and settle under the hands of somebody who clicks, taps and
// types at random. A decision is about the prompt that was under the pointer, or had the focus, 200 ms before.
func TestDecisionsAreAboutWhatWasAimedAt(t *testing.T) { //nolint:tparallel // The seeds share a service, one after the other.
	t.Parallel()
	seeds, steps := []uint64{1, 2}, 350
	if storetest.Thorough {
		seeds, steps = []uint64{1, 2, 3, 4, 5, 6, 7, 8}, 1300
	}
	f := start(t)
	for _, seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			p := openPage(t, f.browser, f.service.URL(), "/")
			someone := &person{flows: f, page: p, random: rand.New(rand.NewPCG(seed, seed)), x: 400, y: 400, handles: map[string]string{}, runs: map[string]string{}}
			someone.load(t)
			for range steps {
				someone.step(t)
			}
			for len(someone.open) > 0 {
				someone.settle(t)
			}
			require.Greater(t, someone.decided, steps/200, "decisions are made")
		})
	}
}

func (s *person) do(t *testing.T, action func(ctx context.Context, target *chromedp.Target) error) {
	t.Helper()
	require.NoError(t, chromedp.Do(s.page.tab, chromedp.Func(action)))
}

func (s *person) load(t *testing.T) {
	s.do(t, func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true})
		return err
	})
	s.reload(t)
}

func (s *person) reload(t *testing.T) {
	require.NoError(t, chromedp.Do(s.page.tab, chromedp.Navigate(s.page.base+"/")))
	s.page.eval(aimScript + `, ""`)
	s.settled(t)
}

// settled waits until the page shows what the service has.
func (s *person) settled(t *testing.T) {
	t.Helper()
	want := "holdpoint"
	if len(s.open) > 0 {
		want = fmt.Sprintf("(%d) holdpoint", len(s.open))
	}
	s.page.until("the title "+want, func() bool {
		return s.page.read(`document.querySelector(".list, .empty") && !document.querySelector("[aria-busy]") ? document.title : ""`) == want
	})
	s.page.eval(`aim.sample()`)
}

// note reads what was sent since, and holds it against what was aimed at. pointer says that a place was.
func (s *person) note(t *testing.T, pointer bool) {
	t.Helper()
	s.page.frame()
	var seen struct {
		Samples []aimSample `json:"samples"`
		Sent    []struct {
			T   float64  `json:"t"`
			IDs []string `json:"ids"`
		} `json:"sent"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.page.eval(`JSON.stringify({samples: aim.samples.splice(0, Math.max(0, aim.samples.length - 40)) && aim.samples, sent: aim.sent.splice(0)})`)), &seen))
	for _, sent := range seen.Sent {
		var before *aimSample
		for i := range seen.Samples {
			if seen.Samples[i].T <= sent.T-200 {
				before = &seen.Samples[i]
			}
		}
		require.NotNil(t, before, "nothing was looked at before: %v", s.log)
		for _, id := range sent.IDs {
			aimed := before.under(s.x, s.y)
			if !pointer {
				aimed = []string{before.Focus}
				if before.Bulk {
					aimed = before.Chosen
				}
			}
			require.Contains(t, aimed, s.handles[id], "%s was decided, but nobody aimed at it 200 ms before; the last steps:\n%s", id, strings.Join(s.log[max(0, len(s.log)-25):], "\n"))
			s.gone(id)
			s.decided++
		}
	}
	if where := s.page.eval("location.pathname"); where != "/" {
		s.reload(t)
		return
	}
	s.settled(t)
}

func (s *person) gone(id string) {
	s.open = slices.DeleteFunc(s.open, func(one string) bool { return one == id })
}

func (s *person) arrive(t *testing.T) {
	s.asked++
	id := "r-" + strconv.Itoa(s.asked)
	suspension := api.Suspension{Approvals: []api.ApprovalRequest{{ID: id, ToolCallID: "c", ToolName: "tool-" + id, Input: api.JSON(`{"command":"make ` + id + `"}`)}}}
	switch s.random.IntN(5) {
	case 0:
		suspension.Approvals[0].ExpiresAfterMs = new(3_600_000 - s.random.Int64N(1_000_000))
	case 1:
		suspension = api.Suspension{Questions: []api.UserQuestionRequest{{ID: id, ToolCallID: "c", Questions: []api.UserQuestion{{ID: "q", Header: id, Question: "Which?"}}}}}
	}
	run, err := s.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "aim-" + id, Input: "go", Suspend: &suspension})
	require.NoError(t, err)
	if len(run.PendingApprovals) > 0 {
		s.handles[id] = run.PendingApprovals[0].Handle
	} else {
		s.handles[id] = run.PendingQuestions[0].Handle
	}
	s.runs[id] = run.RunID
	s.open = append(s.open, id)
	s.log = append(s.log, "arrives "+id)
	s.settled(t)
}

func (s *person) settle(t *testing.T) {
	id := s.open[s.random.IntN(len(s.open))]
	_, err := s.client.CancelRun(t.Context(), s.runs[id], "somebody else")
	require.NoError(t, err)
	s.gone(id)
	s.log = append(s.log, "settles "+id)
	s.settled(t)
}

func (s *person) mouse(t *testing.T, kind input.DispatchMouseEventType, clicks int64) {
	event := input.DispatchMouseEventParams{Type: kind, X: s.x, Y: s.y, ClickCount: clicks}
	if clicks > 0 {
		event.Button = input.MouseButtonLeft
	}
	s.do(t, func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.DispatchMouseEvent, event)
		return err
	})
}

// aim moves the hand to some button, or to some other place.
func (s *person) aim(t *testing.T) {
	s.x, s.y = float64(s.random.IntN(1000)+50), float64(s.random.IntN(800)+60)
	var buttons [][2]float64
	require.NoError(t, json.Unmarshal([]byte(s.page.eval(`JSON.stringify([...document.querySelectorAll("main button, main input")].map(one => one.getBoundingClientRect())
		.filter(box => box.top > 60 && box.bottom < innerHeight).map(box => [box.x + box.width / 2, box.y + box.height / 2]))`)), &buttons))
	var decisions [][2]float64
	require.NoError(t, json.Unmarshal([]byte(s.page.eval(`JSON.stringify([...document.querySelectorAll("button.allow, button.deny, .bulk button")].map(one => one.getBoundingClientRect())
		.filter(box => box.top > 60 && box.bottom < innerHeight).map(box => [box.x + box.width / 2, box.y + box.height / 2]))`)), &decisions))
	if len(decisions) > 0 && s.random.IntN(3) > 0 {
		buttons = decisions
	}
	if len(buttons) > 0 && s.random.IntN(6) > 0 {
		one := buttons[s.random.IntN(len(buttons))]
		s.x, s.y = one[0], one[1]
	}
	s.log = append(s.log, fmt.Sprintf("aims at %.0f, %.0f", s.x, s.y))
}

// step is one move of the world or of the person.
func (s *person) step(t *testing.T) {
	s.page.eval("aim.sample()")
	switch n := s.random.IntN(100); {
	case n >= 94 && n < 97:
		// What was settled is cleared away, and the rest moves up.
		s.log = append(s.log, "clears")
		s.page.eval(`([...document.querySelectorAll(".tidy button, .fresh")].forEach(one => one.click()), scrollTo({top: 0, behavior: "instant"}), "")`)
		s.page.frame()
		s.settled(t)
	case n < 14 && len(s.open) < 7, len(s.open) == 0:
		s.arrive(t)
	case n < 26 && len(s.open) > 1:
		s.settle(t)
	case n < 46:
		ms := []int{30, 100, 210, 310, 620, 800, 1500, 9000, 9000}[s.random.IntN(9)]
		s.log = append(s.log, fmt.Sprintf("%d ms pass", ms))
		s.page.eval(fmt.Sprintf("aim.pass(%d)", ms))
		s.settled(t)
	case n < 56:
		s.aim(t)
		s.mouse(t, "mouseMoved", 0)
	case n < 72:
		s.log = append(s.log, "clicks")
		for count := range int64(1 + s.random.IntN(2)) {
			s.mouse(t, "mousePressed", count+1)
			s.mouse(t, "mouseReleased", count+1)
		}
		s.note(t, true)
	case n < 80:
		if s.random.IntN(2) == 0 {
			s.aim(t)
		}
		s.log = append(s.log, "taps")
		s.do(t, func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchStart", TouchPoints: []*input.TouchPoint{{X: s.x, Y: s.y}}})
			if err == nil {
				_, err = cdp.Call(ctx, target, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchEnd", TouchPoints: []*input.TouchPoint{}})
			}
			return err
		})
		s.note(t, true)
	case n < 94:
		key := []string{"j", "j", "k", "a", "a", "d", "e", "r", "x", "\t", "\t", "\r"}[s.random.IntN(12)]
		s.log = append(s.log, fmt.Sprintf("presses %q", key))
		s.page.pressNow(key)
		s.note(t, false)
	default:
		// What is typed into a field is typed on, whatever becomes of the field.
		text := "just wait a day"
		at := s.random.IntN(len(text))
		s.log = append(s.log, "types, and something settles")
		if s.page.eval(`document.activeElement.matches("input:not([type=checkbox]):not([type=radio]), textarea") ? "yes" : ""`) == "" {
			s.page.eval(`(document.querySelector("li form input, li form textarea")?.focus(), aim.sample())`)
		}
		if s.page.eval(`document.activeElement.matches("input:not([type=checkbox]):not([type=radio]):not([type=search]), textarea") ? "yes" : ""`) == "" {
			return
		}
		focused := s.page.eval(`document.activeElement.closest("[data-handle]")?.dataset.handle ?? ""`)
		for i, letter := range text {
			if i == at {
				s.settleHandle(t, focused)
			}
			s.page.eval("aim.pass(60)")
			s.page.pressNow(string(letter))
			s.note(t, false)
		}
		s.page.eval(`(document.querySelector("input[type=search]").value === "" || (document.querySelector("input[type=search]").value = "", document.querySelector("input[type=search]").dispatchEvent(new InputEvent("input", {bubbles: true}))), "")`)
	}
}

// settleHandle settles the prompt that has the focus, if it is open.
func (s *person) settleHandle(t *testing.T, handle string) {
	for _, id := range slices.Clone(s.open) {
		if s.handles[id] == handle {
			_, err := s.client.CancelRun(t.Context(), s.runs[id], "somebody else")
			require.NoError(t, err)
			s.gone(id)
			s.log = append(s.log, "settles "+id+", which has the focus")
			s.settled(t)
		}
	}
}
