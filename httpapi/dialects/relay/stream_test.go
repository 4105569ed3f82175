package relay

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// A client reads the same frames however the log is split between calls of the sink. In particular,
// no relay is shown for a call that a rule settles.
func TestFramesDoNotDependOnTheCut(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	do := func(command runs.Command) runs.Reply {
		reply, err := store.Do(t.Context(), command)
		require.NoError(t, err)
		return reply
	}
	made := &chat{sessionID: "s", state: chatState{RunID: "r"}}
	do(&runs.CreateSession{SessionID: "s"})
	do(&runs.AddRule{SessionID: "s", ToolName: "read", Match: api.RuleMatch{AnyInput: true}})
	do(&runs.AddRule{SessionID: "s", Effect: api.RuleDeny, Match: api.RuleMatch{ToolCallID: "call-c"}})
	do(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
	do(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
	approval := func(id, tool string) api.ApprovalRequest {
		return api.ApprovalRequest{ID: id, ToolCallID: "call-" + id, ToolName: tool, Input: api.JSON(`{"x":1}`)}
	}
	do(&runs.Suspend{RunID: "r", Fence: 1, Suspension: api.Suspension{
		Hold: true, Approvals: []api.ApprovalRequest{approval("a", "read"), approval("b", "bash"), approval("c", "bash")},
	}})
	do(&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{{RequestID: "b", Behavior: api.BehaviorDeny}}})
	do(&runs.Suspend{RunID: "r", Fence: 1, Suspension: api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{approval("d", "read")}}})
	do(&runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"delta","text":"x"}`), api.JSON(`{"type":"delta","text":"y"}`)}})
	do(&runs.Complete{RunID: "r", Fence: 1})
	log, _, err := store.EventsWithin(t.Context(), reads.EventQuery{SessionID: "s", Limit: 100, MaxBytes: api.MaxReplyBytes})
	require.NoError(t, err)

	told := func(size int) string {
		recorder := httptest.NewRecorder()
		f := newFace(kit.Services{Store: unlimited{store}, Logger: slog.New(slog.DiscardHandler)}, Options{})
		s := newChatStream(context.Background(), f, made, stream.Begin(recorder, "text/event-stream", time.Second))
		for first := 0; first < len(log); first += size {
			var part []*model.Event
			for i := first; i < min(first+size, len(log)); i++ {
				part = append(part, &log[i])
			}
			if err := s.Events(part); err != nil {
				require.ErrorIs(t, err, errRunOver)
				require.Equal(t, len(log), first+len(part), "over before the end")
			}
		}
		return recorder.Body.String()
	}
	whole := told(len(log))
	var names []string
	for line := range strings.Lines(whole) {
		if name, found := strings.CutPrefix(line, "event: "); found {
			names = append(names, strings.TrimSpace(name))
		}
	}
	require.Equal(t, []string{"harness_start", "relay", "tool_result", "relay_resolved", "tool_result", "text", "text", "harness_end"}, names)
	for size := 1; size < len(log); size++ {
		require.Equal(t, whole, told(size), "in parts of %d", size)
	}
}

// unlimited is the service of a caller that may do and read everything.
type unlimited struct{ runs.Store }

func (u unlimited) Reader(context.Context) reads.Reader { return u.Store }

// brokenPipe is a client that no longer reads.
type brokenPipe struct{ *httptest.ResponseRecorder }

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// A client that reads nothing counts as gone, even if its request is still open.
func TestAClientThatTakesNothingHasLeft(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	f := newFace(kit.Services{Store: unlimited{store}, Logger: slog.New(slog.DiscardHandler), Draining: t.Context()}, Options{})
	made := &chat{sessionID: "s", state: chatState{RunID: "r"}, input: api.JSON(`1`)}
	require.NoError(t, f.createChat(t.Context(), made))
	told := newChatStream(t.Context(), f, made, stream.Begin(brokenPipe{httptest.NewRecorder()}, "text/event-stream", time.Second))
	f.closeIfLeft(t.Context(), told)
	_, err = f.answerableChat(t.Context(), "s")
	require.NoError(t, err)

	require.ErrorIs(t, told.KeepAlive(), errReaderGone)
	f.closeIfLeft(t.Context(), told)
	_, err = f.answerableChat(t.Context(), "s")
	require.ErrorIs(t, err, errUnknownSession)
}
