package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// maxSearched is the number of newest decisions to search for an id that is not open.
const maxSearched = 1000

// settled finds a settled request in the given session and run, by its handle or else the
// newest with the id. It searches the session of a given run. Errors: errNotOpen if there is none.
func (p pendingRef) settled(ctx context.Context, c *client.Client, kind api.RequestKind, requestID string) (*api.RequestView, error) {
	view, err := c.GetRequest(ctx, requestID)
	if err == nil && view.Kind == kind && view.RecordedDecision != nil {
		return view, nil
	}
	if err != nil && !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrInvalid) {
		return nil, err
	}
	if p.SessionID == "" && p.RunID != "" {
		if run, err := c.GetRun(ctx, p.RunID); err == nil {
			p.SessionID = run.SessionID
		}
	}
	searched := 0
	for view, err := range c.AllDecisions(ctx, client.DecisionListParams{SessionID: p.SessionID, Summary: true}) {
		if err != nil {
			return nil, err
		}
		if view.Kind == kind && view.RecordedDecision != nil && (view.RecordedDecision.RequestID == requestID || console.NamesHandle(requestID, handleOf(&view))) && (p.RunID == "" || p.RunID == view.RunID) {
			return &view, nil
		}
		if searched++; searched == maxSearched {
			break
		}
	}
	return nil, notOpenError{fmt.Sprintf("no %s %q, open or among the last %d decisions", kind, requestID, maxSearched)}
}

// decidedText says who decided, when, and how.
func decidedText(recorded *api.RecordedDecision, now time.Time) string {
	if recorded == nil {
		return ""
	}
	return prompt.Decided(recorded.Outcome, recorded.ResolvedBy, recorded.Via, console.Ago(recorded.ResolvedAtMs, now))
}

// approvalOf returns the approval of a view.
func approvalOf(view *api.RequestView) api.ApprovalRequest {
	var request api.ApprovalRequest
	_ = json.Unmarshal(view.Request, &request) // an unreadable one is shown empty
	return request
}

// questionOf returns the question of a view.
func questionOf(view *api.RequestView) api.UserQuestionRequest {
	var request api.UserQuestionRequest
	_ = json.Unmarshal(view.Request, &request) // an unreadable one is shown empty
	return request
}

// handleOf returns the handle of a view's request, of either kind.
func handleOf(view *api.RequestView) string {
	var request struct {
		Handle string `json:"handle"`
	}
	_ = json.Unmarshal(view.Request, &request) // an unreadable one has none
	return request.Handle
}

// decidedTable shows decisions and who made them.
func decidedTable() table[api.RequestView] {
	return table[api.RequestView]{
		header: []string{"REQUEST", "OUTCOME", "BY", "WHEN", "WAY", "SESSION", "RUN", "ABOUT"},
		row: func(view *api.RequestView, now time.Time) []string {
			var about string
			if view.Kind == api.RequestApproval {
				request := approvalOf(view)
				about = request.ToolName + " " + prompt.CommandOf(request.Input)
			} else {
				request := questionOf(view)
				about = prompt.QuestionText(&request)
			}
			recorded := view.RecordedDecision
			if recorded == nil {
				recorded = &api.RecordedDecision{}
			}
			return []string{
				recorded.RequestID, string(recorded.Outcome), recorded.ResolvedBy, console.Ago(recorded.ResolvedAtMs, now),
				prompt.Way(recorded.Via), view.SessionID, view.RunID, console.Cut(about, 120),
			}
		},
	}
}

// approvalsList lists open or decided approvals.
type approvalsList struct {
	console.Reporting
	ofSession
	Limit   *int   `placeholder:"N" help:"With --decided: maximum number (default 100); 0 for all."`
	Decided bool   `help:"List decided requests, newest first, instead of pending ones."`
	By      string `placeholder:"NAME" help:"With --decided: only decisions by this person."`
}

// Run prints the approvals.
func (c *approvalsList) Run(ctx context.Context, terminal *console.Console) error {
	if c.By != "" && !c.Decided {
		return console.Usage("--by needs --decided")
	}
	limit := defaultLimit
	if c.Limit != nil {
		if !c.Decided {
			return console.Usage("--limit needs --decided")
		}
		limit = *c.Limit
	}
	return c.Call(func(opened *client.Client) error {
		if !c.Decided {
			open := approvalFilter{c.ofSession}
			records, err := open.read(ctx, opened)
			if err != nil {
				return err
			}
			return open.table().print(terminal, c.JSON, records)
		}
		all := opened.AllDecisions(ctx, client.DecisionListParams{SessionID: c.SessionID, Actor: c.By, Summary: true})
		records, err := collect(func(yield func(api.RequestView, error) bool) {
			for view, err := range all {
				if (err != nil || view.Kind == api.RequestApproval) && !yield(view, err) {
					return
				}
			}
		}, limit)
		if err != nil {
			return err
		}
		return decidedTable().print(terminal, c.JSON, records)
	})
}
