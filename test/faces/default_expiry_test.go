package faces

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// A request without a deadline gets the service's default, on both engines. Every face that raises requests
// does so by the same command.
func TestRequestsGetTheDefaultDeadline(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(*testing.T) string{
		"sqlite": func(*testing.T) string { return inprocess.Memory }, "postgres": func(t *testing.T) string { t.Helper(); return postgrestest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := inprocess.Start(t, database(t), inprocess.Options{WithoutExpiry: true, Store: store.Options{DefaultExpiry: 24 * time.Hour}})
			made, err := service.Connect().CreateRun(t.Context(), client.CreateRunParams{AgentID: "coder", Input: "work", Suspend: &api.Suspension{
				Approvals: []api.ApprovalRequest{
					{ID: "plain", ToolName: "bash", ToolCallID: "1", Input: api.JSON(`{}`)},
					{ID: "own", ToolName: "bash", ToolCallID: "2", Input: api.JSON(`{}`), ExpiresAfterMs: new(int64(60_000))},
				},
				Questions: []api.UserQuestionRequest{{ID: "q", Questions: []api.UserQuestion{{ID: "1", Question: "Which?"}}}},
			}})
			require.NoError(t, err)
			run, err := service.Connect().GetRun(t.Context(), made.RunID)
			require.NoError(t, err)
			day := (24 * time.Hour).Milliseconds()
			require.Len(t, run.PendingApprovals, 2)
			for _, approval := range run.PendingApprovals {
				after := day
				if approval.ID == "own" {
					after = 60_000
				}
				require.Equal(t, approval.CreatedAtMs+after, *approval.ExpiresAtMs, approval.ID)
			}
			require.Equal(t, run.PendingQuestions[0].CreatedAtMs+day, *run.PendingQuestions[0].ExpiresAtMs)
		})
	}
}
