package decide

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// openCalls are open approvals with the same input, in the order of lists. With cuts, a page has one row.
type openCalls struct {
	rows []model.PendingRequest
	cuts bool
}

func (o *openCalls) add(tool string, calls int) *model.Request {
	for range calls {
		id := fmt.Sprintf("a-%05d", len(o.rows))
		body := document.Encode(api.ApprovalRequest{ID: id, Handle: id, ToolName: tool, Input: api.JSON(`{}`), InputDigest: "sha256:0"})
		o.rows = append(o.rows, model.PendingRequest{Request: model.Request{SessionID: "s", RunID: "r", RequestID: id, Handle: id, Kind: model.KindApproval, Body: body}})
	}
	return &o.rows[len(o.rows)-1].Request
}

func (o *openCalls) pending(_ context.Context, q reads.RequestQuery) (page []model.PendingRequest, err error) {
	for i := range o.rows {
		switch {
		case q.After != nil && o.rows[i].Request.RequestID <= q.After.RequestID:
		case len(page) == q.Limit:
			return page, nil
		case o.cuts && len(page) > 0:
			q.Budget.Cut = true
			return page, nil
		default:
			page = append(page, o.rows[i])
		}
	}
	return page, nil
}

// Calls of other tools with the same input, however many come first, hide none of the same tool.
func TestTheSameCallIsCountedBehindThoseOfOtherTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others, same int
		cuts         bool
		want         int64
	}{
		"none":                   {0, 0, false, 0},
		"alone":                  {0, 2, false, 2},
		"a page of others":       {api.MaxSameOpen + 1, 2, false, 2},
		"several pages":          {3_000, 2, false, 2},
		"others to the end":      {api.MaxSameOpen + sameOpenPage, 0, false, 0},
		"as many as are counted": {500, api.MaxSameOpen, false, api.MaxSameOpen},
		"more":                   {500, 3 * api.MaxSameOpen, false, api.MaxSameOpen},
		"pages are cut":          {20, 2, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := &openCalls{cuts: c.cuts}
			if c.others > 0 {
				open.add("zsh", c.others)
			}
			request := open.add("bash", c.same+1)
			counted, err := sameOpen(t.Context(), open.pending, request)
			require.NoError(t, err)
			require.Equal(t, c.want, *counted)
		})
	}
}
