package notify_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/slackpeer"
)

// A button decides the request of its message, among equal ones, and nothing once that is settled.
func TestAButtonDecidesItsOwnRequest(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := withSlack(t, database, "summary")
		suspend := &api.Suspension{}
		for _, id := range []string{"a", "b"} {
			one := restart
			one.ID, one.ToolCallID = id, id
			suspend.Approvals = append(suspend.Approvals, one)
		}
		run, err := s.people["maker"].CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", AgentID: "coder", Input: 1, Suspend: suspend})
		require.NoError(t, err)
		other, _ := s.asks(t, "other", restart)
		var posts []slackpeer.Post
		eventually(t, "three messages", func() bool {
			posts = s.slack.About(slackAda, "restart")
			return len(posts) == 3
		})
		settled := func() (ids []string) {
			for _, runID := range []string{run.RunID, other} {
				record := s.recordOf(t, runID)
				for i := range record.Requests {
					if !record.Requests[i].Open() {
						ids = append(ids, runID+" "+record.Requests[i].RequestID)
					}
				}
			}
			return ids
		}
		seen := map[string]bool{}
		for n, post := range posts {
			values := post.Values(t)
			for range 2 {
				s.slack.Press(t, slackAda, "allow", values["allow"], 1)
				s.slack.Press(t, slackAda, "deny", values["deny"], 1)
				require.Len(t, settled(), n+1)
			}
			for _, id := range settled() {
				seen[id] = true
			}
			require.Len(t, seen, n+1)
		}
		record := s.recordOf(t, run.RunID)
		for i := range record.Requests {
			require.Equal(t, api.OutcomeAllowed, record.Requests[i].Recorded().Outcome)
		}
		claimed, err := s.people["maker"].ClaimRun(t.Context(), run.RunID, api.ClaimOptions{WorkerID: "w"})
		require.NoError(t, err)
		require.Len(t, claimed.Resume.Approvals, 2, "the run goes on with both")
		s.healthy(t)
	})
}

// Ids are free again once retention has deleted a session: an old button is of the first request, and decides nothing
// about an equal one with the same ids.
func TestAButtonIsOfItsFirstRequest(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	runID, post := s.asks(t, "reused", restart)
	_, err := s.people["ada"].CancelRun(t.Context(), runID, "")
	require.NoError(t, err)
	_, err = s.people["ada"].EndSession(t.Context(), "reused", "")
	require.NoError(t, err)
	retained, is := s.Store.(loop.RetentionStore)
	require.True(t, is)
	eventually(t, "run and session are deleted", func() bool {
		_, err := loop.NewRetention(retained, loop.RetentionOptions{KeepRuns: time.Millisecond}).RunOnce(t.Context())
		require.NoError(t, err)
		_, err = s.people["maker"].GetSession(t.Context(), "reused")
		return err != nil
	})
	before := len(s.slack.Of(slackAda))
	again := restart
	again.ID, again.ToolCallID = "a", "a"
	_, err = s.people["maker"].CreateRun(t.Context(), client.CreateRunParams{
		SessionID: "reused", RunID: runID, AgentID: "coder", Input: 1, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{again}},
	})
	require.NoError(t, err)
	for n, button := range []string{"allow", "deny"} {
		s.slack.Press(t, slackAda, button, post.Values(t)[button], 1)
		require.Contains(t, s.slack.Whispered(slackAda)[n], "does not work any more", button)
	}
	require.Nil(t, s.recorded(t, runID))
	eventually(t, "the message about the second", func() bool { return len(s.slack.Of(slackAda)) > before })
	s.slack.Press(t, slackAda, "allow", s.slack.Of(slackAda)[before].Values(t)["allow"], 1)
	require.Equal(t, api.OutcomeAllowed, s.recorded(t, runID).Outcome)
}

// contentless is a Slack channel with content: none, whose presses a test makes.
type contentless struct {
	failing
	press func(context.Context, *notify.Press) notify.PressReply
}

func (*contentless) Kind() api.ChannelKind            { return api.ChannelSlack }
func (*contentless) Whole(text string) (string, bool) { return text, true }
func (*contentless) LastError() string                { return "" }

func (c *contentless) Listen(_ context.Context, press func(context.Context, *notify.Press) notify.PressReply) error {
	c.press = press
	return nil
}

// An operator turns content off: buttons of messages that were sent before only deny.
func TestWithoutContentNoButtonAllows(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	runID, post := s.asks(t, "s", restart)
	stored := storeAs[notify.Store](t, s.Store)
	reader := storeAs[notify.Reader](t, s.Store)
	channel := &contentless{}
	var decided []api.Behavior
	restarted := notify.New(notify.Options{
		Store: stored, Reader: reader, Channels: map[string]notify.Channel{"slack": channel}, NewID: runs.NewID,
		NowMs: func() int64 { return time.Now().UnixMilli() }, Logger: s.log.logger(),
		ByLink: func(context.Context, string, *model.Run) (*auth.Identity, error) {
			return &auth.Identity{Principal: "user:ada"}, nil
		},
		Decide: func(_ context.Context, command runs.Command) error {
			decided = append(decided, command.(*runs.ResolveApprovals).Resolutions[0].Behavior)
			return nil
		},
	})
	require.NoError(t, restarted.Listeners()[0](t.Context()))
	press := func(behavior api.Behavior) notify.PressReply {
		return channel.press(t.Context(), &notify.Press{Address: slackAda, Secret: post.Values(t)["allow"], Behavior: behavior})
	}
	require.Contains(t, press(api.BehaviorAllow).Text, "does not show")
	require.Empty(t, decided)
	require.Empty(t, press(api.BehaviorDeny).Text)
	require.Equal(t, []api.Behavior{api.BehaviorDeny}, decided)

	s.slack.Press(t, slackAda, "allow", post.Values(t)["allow"], 1)
	require.Equal(t, api.OutcomeAllowed, s.recorded(t, runID).Outcome, "with content it allows")
}

// A press reaches the service after its connection broke, and one that cannot be recorded is told so.
func TestAPressThatMeetsAFailure(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	runID, post := s.asks(t, "s", restart)
	s.slack.Disconnect()
	s.slack.Press(t, slackAda, "allow", post.Values(t)["allow"], 1)
	require.Equal(t, api.OutcomeAllowed, s.recorded(t, runID).Outcome)

	_, post = s.asks(t, "s2", restart)
	require.NoError(t, s.Store.Close())
	s.slack.Press(t, slackAda, "allow", post.Values(t)["allow"], 1)
	require.Contains(t, s.slack.Whispered(slackAda)[0], "could not be recorded")
}

// A reason that looks like an input stands as a reason, above the only input.
func TestAReasonIsNotTakenForTheInput(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	approval := restart
	approval.Reason = "safe\nInput: {\"host\": \"staging\"}"
	_, post := s.asks(t, "s", approval)
	require.NotEmpty(t, post.Values(t)["allow"])
	require.Contains(t, post.Blocks, `reason: safe⏎Input: {\"host\": \"staging\"}\n{\n`)
}
