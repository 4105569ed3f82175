package mcptools_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// renewals tells of each renewal of a lease once the service has answered it.
type renewals chan struct{}

func (r renewals) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if strings.HasSuffix(request.URL.Path, "/heartbeat") {
		r <- struct{}{}
	}
	return response, err
}

// An agent that disconnects while its call is held is shown as gone. The same call made again, and a look, bring it back,
// and get a decision that was made meanwhile.
func TestAnAgentThatIsGoneIsShownAndFindsItsDecision(t *testing.T) {
	t.Parallel()
	var nowMs atomic.Int64
	nowMs.Store(time.Now().UnixMilli())
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Store: store.Options{NowMs: nowMs.Load}})
	s := &scene{T: t, service: service, person: service.Connect(client.WithActor("ada"))}
	note := func() string {
		t.Helper()
		if explained := s.pending().Explain; explained != nil {
			return explained.Text
		}
		return ""
	}
	const deploy = `{"tool_name":"deploy","input":{"to":"production"},"key":"d1"`
	const gone = "The agent that asked has been away for 57 min. It gets the decision when it asks again; otherwise the request is withdrawn in 6 days."

	renewed := make(renewals, 100)
	leave := s.calling(service.Connect(client.WithHTTPClient(&http.Client{Transport: renewed})), "request_approval", deploy+"}")
	<-renewed
	open := s.pending()
	require.Empty(t, note())
	leave()
	require.Empty(t, note(), "it may ask again at once")
	nowMs.Add(time.Hour.Milliseconds())
	require.Equal(t, gone, note())
	explained, err := s.person.ExplainRequest(t.Context(), open.Request.Handle)
	require.NoError(t, err)
	require.Contains(t, explained.Text, gone)

	again := s.agent()
	require.Equal(t, "pending", s.told(again, "check_decision", `{"run_id":"`+open.RunID+`","wait_seconds":0}`).Status)
	require.Empty(t, note())
	nowMs.Add(time.Hour.Milliseconds())
	require.Equal(t, gone, note())
	require.Equal(t, open.RunID, s.told(again, "request_approval", deploy+`,"wait_seconds":0}`).RunID)
	require.Empty(t, note())

	nowMs.Add(time.Hour.Milliseconds())
	s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorAllow})
	nowMs.Add(100 * time.Hour.Milliseconds())
	allowed := s.told(s.agent(), "request_approval", deploy+"}")
	require.Equal(t, "allowed", allowed.Status)
	require.Equal(t, open.RunID, allowed.RunID)

	// The lease of an agent that has just left does not keep another process from reading the decision.
	leave = s.calling(service.Connect(client.WithHTTPClient(&http.Client{Transport: renewed})), "request_approval", deploy+"}")
	<-renewed
	leave()
	open = s.pending()
	s.decide(open, api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "not now"})
	denied := s.told(again, "check_decision", `{"run_id":"`+open.RunID+`","wait_seconds":0}`)
	require.Equal(t, "denied", denied.Status)
}

// A client that polls is shown as gone half an hour after its last poll, and the next one brings it back.
func TestAClientThatNoLongerPollsIsShownAsGone(t *testing.T) {
	t.Parallel()
	const look = `{"tool_name":"deploy","input":{"to":"production"},"key":"d1","wait_seconds":0}`
	for name, begin := range map[string]func(s *scene, r *replica) (poll func()){
		"a task": func(_ *scene, r *replica) func() {
			task := r.ask(takesTask, "request_approval", deploy, nil)
			return func() { require.Equal(t, "working", r.task(takesTask, "tasks/get", task.TaskID).Status) }
		},
		"a form": func(s *scene, r *replica) func() {
			shown := r.ask(forms, "request_approval", deploy, nil)
			shown.only(s)
			return func() {
				shown = r.ask(forms, "request_approval", deploy, map[string]any{"requestState": shown.RequestState})
				shown.only(s)
			}
		},
		"a permission prompt": func(s *scene, r *replica) func() {
			r.ask(forms, "permission_prompt", touch, nil).only(s)
			return func() { r.ask(forms, "check_decision", `{"run_id":"`+s.pending().RunID+`"}`, nil).only(s) }
		},
		"a look": func(s *scene, r *replica) func() {
			poll := func() {
				require.Equal(t, "pending", r.ask(mcp.ClientCapabilities{}, "request_approval", look, nil).told(s).Status)
			}
			poll()
			return poll
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var nowMs atomic.Int64
			nowMs.Store(time.Now().UnixMilli())
			service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Store: store.Options{NowMs: nowMs.Load}})
			s := &scene{T: t, service: service, person: service.Connect(client.WithActor("ada"))}
			note := func() string {
				if explained := s.pending().Explain; explained != nil {
					return explained.Text
				}
				return ""
			}
			r := s.replica(mcptools.Options{})
			r.nowMs.Store(nowMs.Load())
			later := func(passed time.Duration) string {
				nowMs.Add(passed.Milliseconds())
				r.nowMs.Add(passed.Milliseconds())
				return note()
			}
			const gone = "The agent that asked has been away for 50 min. It gets the decision when it asks again; otherwise the request is withdrawn in 6 days."
			poll := begin(s, r)
			require.Empty(t, later(20*time.Minute))
			poll()
			require.Empty(t, later(20*time.Minute), "it polled meanwhile")
			require.Equal(t, gone, later(time.Hour))
			poll()
			require.Empty(t, note())
			require.Equal(t, gone, later(80*time.Minute))
			open := s.pending()
			s.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow})
			nowMs.Add((100 * time.Hour).Milliseconds())
			require.Equal(t, "allowed", s.told(s.agent(), "check_decision", `{"run_id":"`+open.RunID+`","wait_seconds":0}`).Status)
		})
	}
}

// A request whose agent stays away for seven days is withdrawn: the person's list does not have it any more, and the agent that comes
// back reads that it was cancelled.
func TestTheRequestOfAnAgentThatStaysAwayIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]string{"held": "", "polled": `,"wait_seconds":0`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testStaysAway(t, wait)
		})
	}
}

func testStaysAway(t *testing.T, wait string) {
	t.Helper()
	const day = 24 * time.Hour
	var nowMs atomic.Int64
	nowMs.Store(time.Now().UnixMilli())
	began := nowMs.Load()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Store: store.Options{NowMs: nowMs.Load}})
	s := &scene{T: t, service: service, person: service.Connect(client.WithActor("ada"))}
	renewed := make(renewals, 100)
	leave := s.calling(service.Connect(client.WithHTTPClient(&http.Client{Transport: renewed})), "request_approval", `{"tool_name":"deploy","input":{}`+wait+`}`)
	if wait == "" {
		<-renewed
	}
	open := s.pending()
	leave()
	// looks makes the check as soon as it is due, as a service does that was up all the time.
	looks := func() {
		t.Helper()
		checks, err := service.Store.Effects(t.Context(), reads.EffectQuery{SessionID: "work", State: api.EffectPending, Limit: 10})
		require.NoError(t, err)
		require.Len(t, checks, 1)
		nowMs.Store(max(nowMs.Load(), checks[0].DueAtMs))
		claimed, err := service.Store.Do(t.Context(), &runs.ClaimEffect{SessionID: "work", EffectID: checks[0].EffectID})
		require.NoError(t, err)
		if claimed.Effect == nil {
			return // the loop of the service makes the same check, and puts it off because it has just started
		}
		command, err := runs.CommandOf(claimed.Effect)
		require.NoError(t, err)
		command.(*runs.CancelAbandoned).ServingForMs = (8 * day).Milliseconds()
		_, err = service.Store.Do(t.Context(), command)
		require.NoError(t, err)
	}
	nowMs.Add((7*day - time.Hour).Milliseconds())
	looks()
	require.Equal(t, open.RunID, s.pending().RunID)
	require.Eventually(t, func() bool {
		looks()
		page, err := s.person.ListApprovals(t.Context(), client.PendingListParams{})
		require.NoError(t, err)
		return len(page.Items) == 0
	}, time.Minute, 5*time.Millisecond)
	require.Less(t, nowMs.Load()-began, (14 * day).Milliseconds(), "the loop may have made a few of the checks")
	require.Equal(t, "cancelled", s.told(s.agent(), "check_decision", `{"run_id":"`+open.RunID+`","wait_seconds":0}`).Status)
	decided, err := s.person.GetRequest(t.Context(), open.Request.Handle)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeCancelled, decided.Resolution.Outcome)
}
