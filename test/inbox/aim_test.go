//go:build unix && browser

package inbox

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// TestDecisionsAreAboutWhatWasAimedAt adds and settles prompts while a person clicks, taps and
// types at random. A decision is about the prompt that was under the pointer, or had the focus, 200
// ms before.
func TestDecisionsAreAboutWhatWasAimedAt(t *testing.T) { //nolint:tparallel // one service, one person after the other
	t.Parallel()
	walks, steps := aimSteps(t, 2, 120)
	f := start(t)
	for seed := range walks {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			someone := f.someone(t, f.service.URL(), uint64(seed))
			require.NoError(t, someone.walk(steps))
			t.Logf("%d moves, %d decisions", someone.moves, someone.decided)
			require.Positive(t, someone.decided, "decisions are made")
		})
	}
}

// TestDecisionsOnAPhoneAreAboutWhatWasAimedAt is the same with a finger on a page of a phone's size, where a request is a
// page of its own and the next one opens by itself.
func TestDecisionsOnAPhoneAreAboutWhatWasAimedAt(t *testing.T) { //nolint:tparallel // one service, one person after the other
	t.Parallel()
	walks, steps := aimSteps(t, 1, 200)
	f := start(t)
	for seed := range walks {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			someone := f.someone(t, f.service.URL(), uint64(seed)+100)
			someone.holdsPhone()
			require.NoError(t, someone.walk(steps))
			t.Logf("%d moves, %d decisions", someone.moves, someone.decided)
			require.Positive(t, someone.decided, "decisions are made")
		})
	}
}

// walkSteps is the length of a walk when many steps are asked for.
const walkSteps = 500

// aimSteps returns how many walks there are and how long each is: those given, or half of HOLDPOINT_AIM_STEPS each at a
// desk and on a phone.
func aimSteps(t *testing.T, walks, steps int) (int, int) {
	t.Helper()
	asked := os.Getenv("HOLDPOINT_AIM_STEPS")
	if asked == "" {
		return walks, steps
	}
	all, err := strconv.Atoi(asked)
	require.NoError(t, err, "HOLDPOINT_AIM_STEPS is a number of steps")
	return max(1, all/2/walkSteps), walkSteps
}

// holdsPhone makes the page as small as a phone's. The person taps, and decisions are sent at once.
func (s *person) holdsPhone() {
	s.page.t.Helper()
	s.page.in("light", 390, 844)
	s.page.eval(`localStorage.setItem("holdpoint.wait", "0") ?? ""`)
	s.phone, s.x, s.y = true, 200, 400
}

// inReach reports whether a button is on the screen, below the head of the page.
func (s *person) inReach(one box) bool {
	if s.phone {
		return one.Top >= 44 && one.Bottom <= 844
	}
	return one.Top >= 70 && one.Bottom <= 900
}

// person acts at random in a page whose prompts change at random.
type person struct {
	*flows
	page   *page
	random *rand.Rand
	// now is the page's clock.
	now  float64
	x, y float64
	// last is the last press; pointed the last of a pointer, about pointedAt; left the last that left a field.
	last, pointed, left press
	pointedAt           []string
	looks               []look
	// handles and runs are by the id of a request; open are the ids.
	handles, runs  map[string]string
	snoozed        map[string]bool // by handle
	open           []string
	log            []string
	moves, decided int
	// phone says that the page is as small as a phone's and that the person taps.
	phone bool
	// writes is how many of a hundred moves write a text into a field.
	writes int
}

func (f *flows) someone(t *testing.T, base string, seed uint64) *person {
	t.Helper()
	s := &person{flows: f, page: openPage(t, f.browser, base, "/login"), random: rand.New(rand.NewPCG(seed, seed)), x: 400, y: 400, writes: 4, handles: map[string]string{}, runs: map[string]string{}, snoozed: map[string]bool{}}
	s.do(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true})
		return err
	})
	s.do(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: aimScript})
		return err
	})
	return s
}

func (s *person) do(action func(ctx context.Context, target *chromedp.Target) error) {
	s.page.t.Helper()
	require.NoError(s.page.t, chromedp.Do(s.page.tab, chromedp.Func(action)))
}

// load opens the page. The person looks at it before the first press.
func (s *person) load() error {
	s.page.load("/")
	s.now, s.looks, s.last, s.pointed, s.left = 1000, nil, press{}, press{}, press{}
	if err := s.settled(""); err != nil {
		return err
	}
	return s.pass(2 * aimsBefore)
}

// walk makes this many moves and leaves nothing open. It returns the first decision that the person
// did not mean.
func (s *person) walk(steps int) error {
	err := s.load()
	for s.moves = 0; err == nil && s.moves < steps; s.moves++ {
		err = s.move()
	}
	for _, id := range slices.Clone(s.open) {
		s.cancel(id)
	}
	if err == nil {
		err = s.settled("")
	}
	return err
}

// move is one move of the world or of the person.
func (s *person) move() error {
	if s.random.IntN(100) < s.writes && len(s.open) > 1 {
		return s.write()
	}
	switch n := s.random.IntN(96); {
	case n < 16 && len(s.open) < 7, len(s.open) == 0:
		return s.arrive()
	case n < 22 && len(s.open) > 1:
		s.settle(s.open[s.random.IntN(len(s.open))])
		return s.settled("")
	case n < 34:
		return s.pass([]float64{30, 100, 210, 310, 620, 620, 800, 1500, 9000}[s.random.IntN(9)])
	case n < 37:
		return s.clear()
	case n < 40:
		return s.scroll()
	case n < 76:
		return s.point()
	}
	keys := []string{"j", "j", "k", "↓", "↑", "n", "o", "a", "a", "a", "d", "D", "e", "r", "x", "1", "\t", "\t", "\r", " "}
	return s.key(keys[s.random.IntN(len(keys))])
}

// point aims and presses; meanwhile time passes, and things happen.
func (s *person) point() error {
	surprise := s.random.IntN(2) == 0
	if s.random.IntN(4) > 0 {
		s.aim()
		if err := s.pass([]float64{40, 250, 350, 700}[s.random.IntN(4)]); err != nil {
			return err
		}
	}
	if surprise {
		happens := s.clear
		if len(s.open) > 1 && s.random.IntN(2) == 0 {
			happens = func() error { s.settle(s.open[s.random.IntN(len(s.open))]); return s.settled("") }
		}
		if err := happens(); err != nil {
			return err
		}
		if err := s.pass(float64(s.random.IntN(8) * 40)); err != nil {
			return err
		}
	}
	if s.random.IntN(3) == 0 || s.phone {
		return s.tap()
	}
	return s.click(1 + s.random.IntN(4)/3)
}

// pass advances the time.
func (s *person) pass(ms float64) error {
	s.log = append(s.log, fmt.Sprintf("%.0f ms pass", ms))
	s.now += ms
	return s.settled(fmt.Sprintf("aim.pass(%f)", ms))
}

func (s *person) arrive() error {
	s.asked++
	id := "r-" + strconv.Itoa(s.asked)
	suspension := api.Suspension{Approvals: []api.ApprovalRequest{{ID: id, ToolCallID: "c", ToolName: "tool-" + id, Input: api.JSON(`{"command":"make ` + id + `"}`)}}}
	switch s.random.IntN(5) {
	case 0: // it would stand above others
		suspension.Approvals[0].ExpiresAfterMs = new(3_600_000 - s.random.Int64N(1_000_000))
	case 1:
		suspension = api.Suspension{Questions: []api.UserQuestionRequest{{ID: id, ToolCallID: "c", Questions: []api.UserQuestion{{ID: "q", Header: id, Question: "Which?"}}}}}
	}
	run, err := s.client.CreateRun(s.page.t.Context(), client.CreateRunParams{SessionID: "aim-" + id, AgentID: "agent-" + strconv.Itoa(s.random.IntN(3)), Input: "go", Suspend: &suspension})
	require.NoError(s.page.t, err)
	if len(run.PendingApprovals) > 0 {
		s.handles[id] = run.PendingApprovals[0].Handle
	} else {
		s.handles[id] = run.PendingQuestions[0].Handle
	}
	s.runs[id] = run.RunID
	s.open = append(s.open, id)
	s.log = append(s.log, "arrives "+id)
	return s.settled("")
}

// settle ends a prompt from elsewhere.
func (s *person) settle(id string) {
	s.log = append(s.log, "settles "+id)
	s.cancel(id)
}

func (s *person) cancel(id string) {
	_, err := s.client.CancelRun(s.page.t.Context(), s.runs[id], "settled elsewhere")
	require.NoError(s.page.t, err)
	s.gone(id)
}

func (s *person) gone(id string) {
	s.open = slices.DeleteFunc(s.open, func(one string) bool { return one == id })
}

// clear removes settled prompts and shows new ones, so the list moves.
func (s *person) clear() error {
	s.log = append(s.log, "clears")
	return s.settled(`[...document.querySelectorAll(".tidy button")].forEach(one => one.click()), document.querySelector(".scroll-list")?.scrollTo({top: 0, behavior: "instant"})`)
}

func (s *person) scroll() error {
	by := float64(s.random.IntN(800) - 400)
	s.log = append(s.log, fmt.Sprintf("scrolls by %.0f", by))
	return s.settled(fmt.Sprintf(`[...document.querySelectorAll(".scroll-list, .scroll-detail")].forEach(one => one.scrollBy({top: %f, behavior: "instant"}))`, by))
}

func (s *person) mouse(event input.DispatchMouseEventParams) {
	s.page.t.Helper()
	event.X, event.Y = s.x, s.y
	s.do(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.DispatchMouseEvent, event)
		return err
	})
}

// aim moves the hand to a button, mostly to one that decides, or to some other place.
func (s *person) aim() {
	s.x, s.y = float64(s.random.IntN(1000)+50), float64(s.random.IntN(800)+60)
	if s.phone {
		s.x, s.y = float64(s.random.IntN(370)+10), float64(s.random.IntN(780)+50)
	}
	// The buttons that are pressed most are those that decide.
	some := map[string][]box{}
	now := s.looks[len(s.looks)-1].Boxes
	// On a phone an open prompt covers the list.
	covered := s.phone && slices.ContainsFunc(now, func(one box) bool { return one.Kind == "section" })
	for _, one := range now {
		if !s.inReach(one) || one.Kind == "section" || covered && one.Kind == "li" {
			continue
		}
		// A row opens its prompt; key caps stand on buttons.
		verb := "Open"
		if one.Kind != "li" {
			verb = strings.TrimRight(strings.Split(one.Label+" ", " ")[0], "ade")
		}
		some[verb] = append(some[verb], one)
	}
	boxes := some[[]string{"Allow", "Allow", "Allow", "Deny", "Deny", "Declin", "Cancel", "En", "Open", "Open"}[s.random.IntN(10)]]
	if len(boxes) == 0 || s.random.IntN(4) == 0 {
		boxes = nil
		for _, verb := range slices.Sorted(maps.Keys(some)) {
			boxes = append(boxes, some[verb]...)
		}
	}
	if len(boxes) > 0 && s.random.IntN(8) > 0 {
		one := boxes[s.random.IntN(len(boxes))]
		s.x, s.y = one.Left+(one.Right-one.Left)*s.random.Float64(), (one.Top+one.Bottom)/2
	}
	s.log = append(s.log, fmt.Sprintf("aims at %.0f, %.0f", s.x, s.y))
	s.mouse(input.DispatchMouseEventParams{Type: "mouseMoved"})
}

// points notes a press of the pointer.
func (s *person) points() {
	s.last = press{t: s.now, x: s.x, y: s.y}
	s.pointed, s.left, s.pointedAt = s.last, s.last, nil
	if before := s.at(s.now - aimsBefore); before != nil {
		s.pointedAt = before.prompts(before.under(s.x, s.y))
	}
}

func (s *person) click(times int) error {
	s.log = append(s.log, fmt.Sprintf("clicks %d times", times))
	for count := range int64(times) {
		s.points()
		s.mouse(input.DispatchMouseEventParams{Type: "mousePressed", ClickCount: count + 1, Button: input.MouseButtonLeft})
		s.mouse(input.DispatchMouseEventParams{Type: "mouseReleased", ClickCount: count + 1, Button: input.MouseButtonLeft})
		if err := s.settled(""); err != nil {
			return err
		}
		if count == 0 && times > 1 {
			if err := s.pass(60); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *person) tap() error {
	s.log = append(s.log, "taps")
	s.points()
	for _, event := range []input.DispatchTouchEventParams{
		{Type: "touchStart", TouchPoints: []*input.TouchPoint{{X: s.x, Y: s.y}}}, {Type: "touchEnd", TouchPoints: []*input.TouchPoint{}},
	} {
		s.do(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, input.DispatchTouchEvent, event)
			return err
		})
	}
	// A busy browser makes the click of a tap later. What comes after it in its queue waits for it.
	s.mouse(input.DispatchMouseEventParams{Type: "mouseMoved"})
	return s.settled("")
}

func (s *person) key(key string) error {
	s.log = append(s.log, fmt.Sprintf("presses %q", key))
	s.last = press{t: s.now, key: key}
	if key == "\t" || key == "\r" {
		s.left = s.last
	}
	s.page.pressNow(key)
	return s.settled("")
}

// write types a text into a field of some prompt, which settles meanwhile. The person types on.
func (s *person) write() error {
	field := func(one box) bool { return one.Field }
	opens := func(one box) bool { return strings.HasPrefix(one.Label, "Deny") }
	for _, what := range []func(box) bool{field, opens} {
		if now := s.looks[len(s.looks)-1]; !now.Field {
			at := slices.IndexFunc(now.Boxes, func(one box) bool { return s.inReach(one) && what(one) })
			if at < 0 {
				continue
			}
			s.x, s.y = now.Boxes[at].Left+10, now.Boxes[at].Top+10
			if err := s.pass(700); err != nil {
				return err
			}
			if err := s.click(1); err != nil {
				return err
			}
		}
	}
	now := s.looks[len(s.looks)-1]
	if !now.Field || now.Focus == "" {
		return nil
	}
	text := "just wait a day"
	at := s.random.IntN(len(text))
	for i, letter := range text {
		if i == at {
			for _, id := range slices.Clone(s.open) {
				if s.handles[id] == now.Focus {
					s.settle(id)
				}
			}
			if err := s.settled(""); err != nil {
				return err
			}
		}
		if err := s.pass(60); err != nil {
			return err
		}
		if err := s.key(string(letter)); err != nil {
			return err
		}
	}
	return nil
}
