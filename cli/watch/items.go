package watch

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// item is one open request.
type item struct {
	session, runID, requestID string // session is its name
	createdAtMs               int64
	// approval is nil for a question.
	approval *api.ApprovalRequest
	question *api.UserQuestionRequest
}

func (i *item) handle() string {
	if i.approval != nil {
		return i.approval.Handle
	}
	return i.question.Handle
}

// key identifies what was read: the request with this input.
func (i *item) key() string {
	if i.approval != nil {
		return i.approval.Handle + " " + i.approval.InputDigest
	}
	return i.question.Handle
}

// about returns what is asked, as one text.
func (i *item) about() string {
	if i.approval != nil {
		return i.approval.ToolName + ": " + console.CommandOf(i.approval.Input)
	}
	return "? " + console.QuestionText(i.question)
}

func ofApproval(session, runID string, request api.ApprovalRequest) item {
	return item{session: session, runID: runID, requestID: request.ID, createdAtMs: request.CreatedAtMs, approval: &request}
}

func ofQuestion(session, runID string, request api.UserQuestionRequest) item {
	return item{session: session, runID: runID, requestID: request.ID, createdAtMs: request.CreatedAtMs, question: &request}
}

// itemsOf returns the requests of a snapshot, oldest first.
func itemsOf(inbox *api.InboxView) []item {
	var items []item
	for _, view := range inbox.PendingApprovals {
		items = append(items, ofApproval(console.SessionName(view.SessionID, view.ParentSessionID), view.RunID, view.Request))
	}
	for _, view := range inbox.PendingQuestions {
		items = append(items, ofQuestion(console.SessionName(view.SessionID, view.ParentSessionID), view.RunID, view.Request))
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.createdAtMs, b.createdAtMs) })
	return items
}

// eventBody has the members of events about requests.
type eventBody struct {
	Type            api.EventType    `json:"type"`
	ParentSessionID string           `json:"parent_session_id"`
	Requests        []api.JSON       `json:"requests"`
	Resolutions     []api.Resolution `json:"resolutions"`
	Resolution      *api.Resolution  `json:"resolution"`
}

// apply returns the items after an event, and the request that it settled. An event may
// come twice, or be part of the snapshot already.
func apply(items []item, entry *api.RunEventEntry) (after []item, settled []api.Resolution) {
	var body eventBody
	if json.Unmarshal(entry.Event, &body) != nil {
		return items, nil
	}
	session := console.SessionName(entry.SessionID, body.ParentSessionID)
	switch body.Type { //nolint:exhaustive // the others are not about requests
	case api.EventWaitingForApproval:
		for _, text := range body.Requests {
			var request api.ApprovalRequest
			if json.Unmarshal(text, &request) == nil {
				items = add(items, ofApproval(session, entry.RunID, request))
			}
		}
	case api.EventWaitingForUserQuestion:
		for _, text := range body.Requests {
			var request api.UserQuestionRequest
			if json.Unmarshal(text, &request) == nil {
				items = add(items, ofQuestion(session, entry.RunID, request))
			}
		}
	default:
		if settled = body.Resolutions; body.Resolution != nil {
			settled = []api.Resolution{*body.Resolution}
		}
	}
	for _, resolution := range settled {
		items = slices.DeleteFunc(items, func(one item) bool {
			return one.runID == entry.RunID && one.requestID == resolution.RequestID
		})
	}
	return items, settled
}

func add(items []item, one item) []item {
	if slices.ContainsFunc(items, func(other item) bool { return other.handle() == one.handle() }) {
		return items
	}
	return append(items, one)
}
