package runs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// BenchmarkDecideLarge measures decisions with about 500 kB of caller values, which all other
// callers of the session wait for.
func BenchmarkDecideLarge(b *testing.B) {
	const nowMs = 1_000_000
	objects := api.JSON(`[` + strings.TrimSuffix(strings.Repeat(`{"b":1,"a":"x"},`, 30_000), ",") + `]`)
	text := strings.Repeat("a line of text\n", 32_000)
	create := &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`"go"`)}
	claim := &runs.ClaimRun{RunID: "r", WorkerID: "w"}
	suspend := func(input api.JSON) runs.Command {
		return &runs.Suspend{RunID: "r", Fence: 1, Suspension: api.Suspension{SuspensionID: "wait", Approvals: []api.ApprovalRequest{
			{ID: "a", ToolCallID: "call", ToolName: "bash", Input: input},
		}}}
	}
	ask := &runs.Suspend{RunID: "r", Fence: 1, Suspension: api.Suspension{SuspensionID: "wait", Questions: []api.UserQuestionRequest{
		{ID: "q", ResponseSchema: api.JSON(`true`)},
	}}}
	quoted := api.JSON(fmt.Sprintf("%q", text))
	for _, bench := range []struct {
		name    string
		before  []runs.Command
		command runs.Command
	}{
		{"output/text", []runs.Command{create, claim}, &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{
			api.JSON(`{"type":"output","content":` + string(quoted) + `}`),
		}}},
		{"output/objects", []runs.Command{create, claim}, &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{
			api.JSON(`{"type":"output","content":"","parts":` + string(objects) + `}`),
		}}},
		{"event/objects", []runs.Command{create, claim}, &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{
			api.JSON(`{"type":"progress","of":` + string(objects) + `}`),
		}}},
		{"suspend/text", []runs.Command{create, claim}, suspend(quoted)},
		{"suspend/objects", []runs.Command{create, claim}, suspend(objects)},
		{"approve/objects", []runs.Command{create, claim, suspend(api.JSON(`{}`))}, &runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
			{RequestID: "a", Behavior: api.BehaviorAllow, UpdatedInput: objects},
		}}},
		{"answer/objects", []runs.Command{create, claim, ask}, &runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{
			RequestID: "q", Value: objects, Verbatim: true,
		}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			state := runs.NewState("s")
			made := 0
			newID := func(prefix string) string { made++; return fmt.Sprintf("%s_%d", prefix, made) }
			for _, command := range bench.before {
				require.NoError(b, runs.Prepare(command, newID))
				change, _, err := runs.Decide(state, command, nowMs)
				require.NoError(b, err)
				state.Apply(change)
			}
			require.NoError(b, runs.Prepare(bench.command, newID))
			require.NoError(b, runs.CheckValues(b.Context(), &askedReader{state: state}, bench.command))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := runs.Decide(state, bench.command, nowMs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// askedReader reads the only run of a state.
type askedReader struct{ state *runs.State }

func (r *askedReader) Run(_ context.Context, runID string) (*model.RunRecord, error) {
	record := &model.RunRecord{Run: *r.state.Runs[runID]}
	for _, request := range r.state.Requests {
		record.Requests = append(record.Requests, *request)
	}
	return record, nil
}

func (r *askedReader) SessionHead(context.Context, string) (*model.Session, error) {
	return r.state.Session, nil
}

func (r *askedReader) PendingRequests(context.Context, reads.RequestQuery) ([]model.PendingRequest, error) {
	return nil, nil
}

// BenchmarkPrepareEvents measures preparing a worker's events before the lock: 256 events of 1 kB.
func BenchmarkPrepareEvents(b *testing.B) {
	line := strings.Repeat("a line of text, ", 60)
	for _, bench := range []struct{ name, event string }{
		{"text", `{"type":"progress","line":"` + line + `"}`},
		{"spaced", `{"type": "progress", "step": 7, "line": "` + line + `"}`},
		{"escaped", `{"type":"progress","line":"` + strings.Repeat(`a line of text\n`, 60) + `"}`},
		{"objects", `{"type":"progress","of":[` + strings.TrimSuffix(strings.Repeat(`{"b":1,"a":"x"},`, 60), ",") + `]}`},
		{"output", `{"type":"output","content":"` + line + `"}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			events := make([]api.JSON, api.MaxEventsPerCall)
			for i := range events {
				events[i] = api.JSON(bench.event)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(events) * len(bench.event)))
			for b.Loop() {
				if err := runs.Prepare(&runs.AppendEvents{RunID: "r", Fence: 1, Events: events}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
