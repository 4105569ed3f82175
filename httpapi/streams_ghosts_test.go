package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// TestNoGhostsInTheInbox suspends and continues runs in every possible way, at random, while
// readers follow the inbox from the beginning or from a later event. In the end each of them shows
// exactly the open requests of the lists.
func TestNoGhostsInTheInbox(t *testing.T) {
	t.Parallel()
	for name, pair := range pairs {
		parallel(t, name, func(t *testing.T) {
			reads, writes := pair(t)
			carryOutEffects(t, writes.store)
			expire(t, writes.store)
			var watching []*watching
			var workers sync.WaitGroup
			for i := range 4 {
				random := rand.New(rand.NewPCG(7, uint64(i)))
				watching = append(watching, reads.watchInbox(t))
				workers.Go(func() {
					for range 25 {
						waitAndGoOn(t, writes, random)
					}
				})
			}
			workers.Wait()
			watching = append(watching, reads.watchInbox(t))
			writes.eventually(t, "what is due is expired", func() bool {
				dueAtMs, _, err := writes.store.NextDueAtMs(t.Context())
				return err == nil && dueAtMs == 0
			})
			open := writes.allOpen(t)
			require.NotEmpty(t, open)
			for i, one := range watching {
				require.Eventually(t, func() bool { return one.shows(open) }, time.Minute, 5*time.Millisecond, "reader %d: %v", i, one)
			}
			// No event arrives late.
			last := writes.waiting(t, `"approvals":[`+approval("last")+`]`)
			open[promptKey(last.session, last.run, "last")] = true
			for i, one := range watching {
				require.Eventually(t, func() bool { return one.shows(open) }, time.Minute, 5*time.Millisecond, "reader %d: %v", i, one)
			}
		})
	}
}

// watching is a reader of the inbox in its own goroutine.
type watching struct {
	mu    sync.Mutex
	shown *prompts
}

func (a *rig) watchInbox(t *testing.T) *watching {
	t.Helper()
	stream, one := a.follow(t, "/v1/stream"), &watching{shown: newPrompts()}
	over := make(chan struct{})
	t.Cleanup(func() {
		_ = stream.response.Body.Close()
		<-over
	})
	go func() {
		defer close(over)
		for {
			frame, err := stream.read()
			if err != nil {
				return
			}
			if err := one.see(frame); err != nil {
				t.Error(err)
			}
		}
	}()
	return one
}

func (w *watching) see(one frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown.apply(one)
}

func (w *watching) shows(open map[string]bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.shown.open) != len(open) {
		return false
	}
	for key := range open {
		if !w.shown.open[key] {
			return false
		}
	}
	return true
}

func (w *watching) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.shown)
}

// allOpen returns the requests in the lists of approvals and questions.
func (a *rig) allOpen(t *testing.T) map[string]bool {
	t.Helper()
	open := map[string]bool{}
	for _, list := range []string{"/v1/approvals", "/v1/questions"} {
		items := a.get(t, list).want(http.StatusOK)
		for i := range items.list() {
			open[promptKey(items.textAt(i, "session_id"), items.textAt(i, "run_id"), items.textAt(i, "request", "id"))] = true
		}
	}
	return open
}

// waitAndGoOn suspends one run, and mostly ends the wait in some way. Calls from goroutines other
// than the test's check nothing: only the final set of open requests counts.
func waitAndGoOn(t *testing.T, a *rig, random *rand.Rand) {
	// Without the client that checks everything against the contract, which takes most of the time.
	call := func(path, body string) *reply {
		got := &reply{t: t, body: map[string]any{}}
		answer, err := a.server.Client().Post(a.server.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return got
		}
		defer answer.Body.Close()
		if err := json.UnmarshalRead(answer.Body, &got.body); err != nil {
			t.Error(err)
		}
		return got
	}
	soon := fmt.Sprintf(`,"expires_at_ms":%d}`, time.Now().UnixMilli()+int64(random.IntN(30)))
	asked := []string{
		`"approvals":[` + approval("1") + `]`,
		`"approvals":[` + approval("1") + `,` + approval("2") + `]`,
		`"questions":[` + question("1") + `]`,
		`"questions":[` + question("1") + `],"approvals":[` + approval("2") + `]`,
		`"approvals":[{"id":"1","tool_call_id":"c","tool_name":"bash","input":1` + soon + `,` + approval("2") + `]`,
		`"questions":[{"id":"1","tool_call_id":"c","questions":[{"id":"route","question":"?","options":[]}]` + soon + `]`,
	}
	session := a.name("session")
	var runID, fence string
	if random.IntN(4) == 0 {
		call("/v1/sessions", fmt.Sprintf(`{"session_id":"p-%s","agent_id":"coder"}`, session))
		call("/v1/sessions", fmt.Sprintf(`{"session_id":%q,"agent_id":"helper","parent_session_id":"p-%s"}`, session, session))
		child := call("/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"claim":{"worker_id":"w"}}`, session))
		runID, fence = child.textAt("run", "run_id"), child.textAt("lease", "fence")
		call("/v1/runs/"+runID+"/clarifications", fmt.Sprintf(`{"fence":%q,"request":%s,"park":%t}`, fence, question("1"), random.IntN(2) == 0))
	} else {
		made := call("/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"claim":{"worker_id":"w"},"suspend":{"hold":true,%s}}`,
			session, asked[random.IntN(len(asked))]))
		runID, fence = made.textAt("run", "run_id"), made.textAt("lease", "fence")
	}
	run := "/v1/runs/" + runID
	for range 1 + random.IntN(3) {
		switch random.IntN(12) {
		case 0:
			call(run+"/approvals", allow("1"))
		case 1:
			call(run+"/approvals", deny("2"))
		case 2:
			call(run+"/questions", answer("1", `"answers":`+goodAnswers))
		case 3:
			call(run+"/questions", answer("1", `"declined":true`))
		case 4:
			call(run+"/questions/1/cancel", `{}`)
		case 5:
			call("/v1/sessions/p-"+session+"/questions", answer("1", `"answers":`+goodAnswers))
		case 6:
			call(run+"/requests/1/withdraw", fmt.Sprintf(`{"fence":%q}`, fence))
		case 7:
			call(run+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,"approvals":[%s]}`, fence, approval(fmt.Sprint("more-", random.IntN(100)))))
		case 8:
			call(run+"/cancel", `{"reason":"no"}`)
		case 9:
			call([]string{"/v1/sessions/" + session, "/v1/sessions/p-" + session}[random.IntN(2)]+"/interrupt", `{}`)
		case 10:
			call([]string{"/v1/sessions/" + session, "/v1/sessions/p-" + session}[random.IntN(2)]+"/end", ``)
		case 11:
			call(run+"/fail", fmt.Sprintf(`{"fence":%q,"error":"broken"}`, fence))
		}
	}
}
