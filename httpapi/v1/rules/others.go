package rules

import (
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// maxAlsoBytes limits the inputs of the other requests of an explanation together.
const maxAlsoBytes = 4 << 20

// openCall is the call of an open approval.
type openCall struct {
	handle string
	call   rules.Call
}

// others returns the calls of those open approvals that the caller can read. It leaves out requests with
// sensitive values, which no rule about a part of the input may match.
func (h *handlers) others(ctx context.Context, handles []string) ([]openCall, error) {
	limited, cancel := context.WithTimeout(ctx, h.readsTimeout)
	defer cancel()
	var calls []openCall
	bytes, budget := 0, rules.NewBudget(1)
	for _, handle := range handles {
		found, err := h.store.Reader(limited).RequestByHandle(limited, handle)
		switch {
		case ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded):
			return calls, nil
		case refusal.CodeOf(err) == api.CodeRequestNotFound:
			continue
		case err != nil:
			return nil, err
		}
		request := &found.Request
		if request.Kind != model.KindApproval || !request.Open() {
			continue
		}
		asked := request.Approval()
		if len(asked.SensitivePaths) > 0 {
			continue
		}
		if bytes += len(asked.Input); bytes > maxAlsoBytes {
			return calls, nil
		}
		calls = append(calls, openCall{handle, rules.Call{
			SessionID: request.SessionID, ToolName: asked.ToolName, ToolCallID: asked.ToolCallID, PatternKeys: asked.PatternKeys,
			Input: asked.Input, InputDigest: asked.InputDigest, Directory: asked.Directory, Budget: budget,
		}})
	}
	return calls, nil
}
