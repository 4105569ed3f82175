package watch

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/prompt"
)

// item is one open request.
type item struct {
	sessionID, runID, requestID string
	// agent and where it works: the session's label or project, else the session.
	agent, where       string
	createdAtMs, dueMs int64 // dueMs is 0 if it does not expire
	// text is what a search finds.
	text string
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
		return i.approval.ToolName + ": " + prompt.CommandOf(i.approval.Input)
	}
	return "? " + prompt.QuestionText(i.question)
}

// rows returns the request's rows. The text of a question is left out: it has a line and numbered options. Its payload
// stays if it says more.
func (i *item) rows() []prompt.Row {
	if i.approval != nil {
		return prompt.OfApproval(i.approval)
	}
	return slices.DeleteFunc(prompt.OfQuestion(i.question), func(row prompt.Row) bool {
		return row.Kind == prompt.Body && (row.Label != "payload" || prompt.OnlyQuestion(i.question))
	})
}

// asker is who asks, and where.
type asker struct {
	sessionID, parentSessionID, agentID, runID string
	session                                    *api.SessionAbout
}

// where names the session for people; a child session by its parent as well.
func (a *asker) where() string {
	name := console.NameOfID(a.sessionID)
	if about := a.session; about != nil {
		name = cmp.Or(about.Label, name)
		if about.Label == "" && about.Origin != nil {
			name = cmp.Or(about.Origin.Project, about.Origin.Directory, name)
		}
	}
	return console.SessionName(name, console.NameOfID(a.parentSessionID))
}

func ofApproval(from asker, request api.ApprovalRequest) item {
	return from.item(item{requestID: request.ID, createdAtMs: request.CreatedAtMs, dueMs: prompt.DeadlineMs(request.ExpiresAtMs, request.Escalation), approval: &request}, prompt.Compact(request.Input))
}

func ofQuestion(from asker, request api.UserQuestionRequest) item {
	return from.item(item{requestID: request.ID, createdAtMs: request.CreatedAtMs, dueMs: prompt.DeadlineMs(request.ExpiresAtMs, request.Escalation), question: &request})
}

func (a *asker) item(one item, texts ...string) item {
	one.sessionID, one.runID, one.agent, one.where = a.sessionID, a.runID, console.NameOfID(a.agentID), a.where()
	for _, row := range one.rows() {
		texts = append(texts, row.Value)
	}
	one.text = strings.Join(append(texts, one.about(), a.agentID, one.where, a.sessionID), "\n")
	return one
}

// byUrgency is the order of the inbox: the earliest deadline first, then the oldest.
func byUrgency(a, b item) int {
	due := func(one item) int64 {
		if one.dueMs == 0 {
			return math.MaxInt64
		}
		return one.dueMs
	}
	return cmp.Or(cmp.Compare(due(a), due(b)), cmp.Compare(a.createdAtMs, b.createdAtMs))
}

// itemsOf returns the requests of a snapshot, the most urgent first.
func itemsOf(inbox *api.InboxView) []item {
	var items []item
	for _, view := range inbox.PendingApprovals {
		items = append(items, ofApproval(asker{view.SessionID, view.ParentSessionID, view.AgentID, view.RunID, view.Session}, view.Request))
	}
	for _, view := range inbox.PendingQuestions {
		items = append(items, ofQuestion(asker{view.SessionID, view.ParentSessionID, view.AgentID, view.RunID, view.Session}, view.Request))
	}
	slices.SortStableFunc(items, byUrgency)
	return items
}

// eventBody has the members of events about requests.
type eventBody struct {
	Type            api.EventType     `json:"type"`
	ParentSessionID string            `json:"parent_session_id"`
	Session         *api.SessionAbout `json:"session"`
	Requests        []api.JSON        `json:"requests"`
	Resolutions     []api.Resolution  `json:"resolutions"`
	Resolution      *api.Resolution   `json:"resolution"`
}

// apply returns the items after an event, and the request that it settled. New ones stand at the end, so that none moves. An event may
// come twice, or be part of the snapshot already.
func apply(items []item, entry *api.RunEventEntry) (after []item, settled []api.Resolution) {
	var body eventBody
	if json.Unmarshal(entry.Event, &body) != nil {
		return items, nil
	}
	from := asker{entry.SessionID, body.ParentSessionID, entry.AgentID, entry.RunID, body.Session}
	switch body.Type { //nolint:exhaustive // the others are not about requests
	case api.EventWaitingForApproval:
		for _, text := range body.Requests {
			var request api.ApprovalRequest
			if json.Unmarshal(text, &request) == nil {
				items = add(items, ofApproval(from, request))
			}
		}
	case api.EventWaitingForUserQuestion:
		for _, text := range body.Requests {
			var request api.UserQuestionRequest
			if json.Unmarshal(text, &request) == nil {
				items = add(items, ofQuestion(from, request))
			}
		}
	case api.EventApprovalResolved, api.EventUserQuestionResolved, api.EventParentClarificationResolved:
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
