package codex

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Entry is an item of a transcript (docs/spec/codex.md#transcript). It is first the request and
// later its outcome, with the same message id.
type Entry struct {
	MessageID   string `json:"messageId"`
	TurnID      string `json:"turnId"`
	Role        string `json:"role"`
	Type        string `json:"type"`
	Content     string `json:"content"`
	Details     string `json:"details"`
	StartedAt   int64  `json:"startedAt"`
	CompletedAt int64  `json:"completedAt,omitzero"`
	Status      string `json:"status"`
}

const (
	roleSystem     = "system"
	statusComplete = "complete"
)

// The types of entries.
const (
	entryApprovalRequest   = "approval.request"
	entryApprovalResolved  = "approval.resolved"
	entryToolInputRequest  = "tool_input.request"
	entryToolInputResolved = "tool_input.resolved"
)

const (
	// maxEntries is the maximum number of entries in a transcript: the newest are shown.
	maxEntries = 5_000
	// maxTranscriptBytes is the maximum size of their texts together, unless the newest is larger.
	maxTranscriptBytes = api.MaxReplyBytes
	// readEvents is the page size of reads.
	readEvents = 1_000
)

// showTranscript shows a session's log as a list of requests and outcomes. Answers are not
// included, because they may be secret.
func (f *face) showTranscript(w http.ResponseWriter, r *http.Request) error {
	session, err := f.visibleSession(r)
	if err != nil {
		return err
	}
	list, err := f.transcriptOf(r.Context(), session)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, sessionPage[Entry]{list})
}

// transcriptOf reads a session's transcript. It is empty for nil.
func (f *face) transcriptOf(ctx context.Context, session *model.Session) ([]Entry, error) {
	list := newTranscript()
	for after, more := int64(0), session != nil; more; {
		var events []model.Event
		var err error
		events, more, err = f.Store.Reader(ctx).EventsWithin(ctx, reads.EventQuery{
			SessionID: session.SessionID, AboutRequests: true, After: after, Limit: readEvents, MaxBytes: api.MaxReplyBytes,
		})
		if refusal.CodeOf(err) == api.CodeEventCursorReset {
			// The log was trimmed meanwhile. Read it from its beginning.
			list, after, more = newTranscript(), 0, true
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range events {
			if err := list.add(&events[i]); err != nil {
				return nil, err
			}
			after = events[i].EventID
		}
	}
	list.trim()
	for _, runID := range list.undecided() {
		// The outcomes of its requests are still stored, and nothing else of them is shown.
		for request, err := range reads.Settled(ctx, f.Store.Reader(ctx), runID) {
			if refusal.CodeOf(err) == api.CodeRunNotFound {
				break
			}
			if err != nil {
				return nil, err
			}
			list.settle(runID, new(request.Recorded()))
		}
	}
	return list.newest(), nil
}

// transcript folds events into entries.
type transcript struct {
	entries []entry
	// first is the number of the first remaining entry, and size the size of all.
	first, size int
	at          map[requestKey]int
	// redacted are runs with a redacted decision in the log.
	redacted map[string]bool
}

func newTranscript() transcript {
	return transcript{at: map[requestKey]int{}, redacted: map[string]bool{}}
}

type entry struct {
	Entry
	handle string
	kind   model.RequestKind
	key    requestKey
}

func (t *transcript) add(event *model.Event) error {
	change, err := kit.ChangeOf(event)
	if err != nil {
		return err
	}
	for i := range change.Approvals {
		t.open(approvalEntry(event, &change.Approvals[i]))
	}
	for i := range change.Questions {
		t.open(toolInputEntry(event, &change.Questions[i]))
	}
	for i := range change.Resolutions {
		t.settle(event.RunID, &change.Resolutions[i])
	}
	if change.Redacted {
		t.redacted[event.RunID] = true
	}
	return nil
}

func (t *transcript) open(added entry) {
	t.at[added.key] = t.first + len(t.entries)
	t.entries = append(t.entries, added)
	t.size += added.size()
	// Drop many entries at once, so that the rest is not moved for each new entry.
	if len(t.entries) >= 2*maxEntries || t.size > 2*maxTranscriptBytes {
		t.trim()
	}
}

// trim drops the oldest entries beyond the limits.
func (t *transcript) trim() {
	dropped := 0
	for rest := len(t.entries); rest > maxEntries || rest > 1 && t.size > maxTranscriptBytes; rest-- {
		t.size -= t.entries[dropped].size()
		delete(t.at, t.entries[dropped].key)
		dropped++
	}
	t.first += dropped
	t.entries = slices.Delete(t.entries, 0, dropped)
}

func (e *entry) size() int { return len(e.Content) + len(e.Details) }

// settle updates a request's entry. A request without an entry is too old, or not shown in this
// dialect.
func (t *transcript) settle(runID string, resolution *api.Resolution) {
	number, found := t.at[requestKey{runID, resolution.RequestID}]
	if !found {
		return
	}
	entry := &t.entries[number-t.first]
	t.size -= entry.size()
	defer func() { t.size += entry.size() }()
	entry.CompletedAt = resolution.ResolvedAtMs
	if entry.kind == model.KindApproval {
		result := settledApproval(resolution)
		entry.Type, entry.Content = entryApprovalResolved, result.content("Approval")
		entry.Details = indented(kit.Encode(approvalResolved{entry.handle, result}))
		return
	}
	result := settledAs(resolution)
	entry.Type, entry.Content = entryToolInputResolved, result.content("Tool input")
	entry.Details = indented(kit.Encode(toolInputResolved{entry.handle, result}))
}

// maxIndented is the size in bytes up to which details are indented. A short list within many others takes a
// hundred times its size on lines of its own.
const maxIndented = 64 << 10

// indented returns JSON in the format of JSON.stringify(value, null, 2), and a large one on one line.
func indented(value api.JSON) string {
	if len(value) > maxIndented {
		return kit.Compact(value)
	}
	text := jsontext.Value(value)
	if err := text.Indent(jsontext.WithIndent("  "), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return string(text)
	}
	return strings.TrimSpace(string(text))
}

func (s *settled) content(what string) string {
	if s.Status == statusExpired {
		return what + " expired"
	}
	return what + " resolved (" + s.Decision + ")"
}

// undecided returns the redacted runs with an entry that still looks open. There may be many other
// redacted runs.
func (t *transcript) undecided() []string {
	runIDs := map[string]bool{}
	for _, one := range t.entries {
		if runID := one.key.runID; one.CompletedAt == 0 && t.redacted[runID] {
			runIDs[runID] = true
		}
	}
	return slices.Sorted(maps.Keys(runIDs))
}

func (t *transcript) newest() []Entry {
	list := make([]Entry, len(t.entries))
	for i := range t.entries {
		list[i] = t.entries[i].Entry
	}
	return list
}

func approvalEntry(event *model.Event, approval *api.ApprovalRequest) entry {
	shown := pendingApproval(event.SessionID, event.RunID, approval)
	return entry{
		Entry: Entry{
			MessageID: "approval-" + shown.ApprovalID, TurnID: cmp.Or(shown.TurnID, "approval"), Role: roleSystem,
			Type: entryApprovalRequest, Content: shown.Summary,
			Details:   indented(requestDetails(shown.Method, shown.CreatedAt, shown.Details, nil)),
			StartedAt: approval.CreatedAtMs, Status: statusComplete,
		},
		handle: shown.ApprovalID, kind: model.KindApproval, key: requestKey{event.RunID, approval.ID},
	}
}

func toolInputEntry(event *model.Event, question *api.UserQuestionRequest) entry {
	shown := pendingToolInput(event.SessionID, event.RunID, question)
	return entry{
		Entry: Entry{
			MessageID: "tool-input-" + shown.RequestID, TurnID: cmp.Or(shown.TurnID, "tool-input"), Role: roleSystem,
			Type: entryToolInputRequest, Content: shown.Summary,
			Details:   indented(requestDetails(shown.Method, shown.CreatedAt, shown.Details, shown.Questions)),
			StartedAt: question.CreatedAtMs, Status: statusComplete,
		},
		handle: shown.RequestID, kind: model.KindQuestion, key: requestKey{event.RunID, question.ID},
	}
}

// requestDetails returns the runtime's parameters with this service's additions.
func requestDetails(method, createdAt string, parameters api.JSON, questions []Question) api.JSON {
	head := kit.Object{kit.MemberOf("method", method), kit.MemberOf("createdAt", createdAt)}
	var tail kit.Object
	if questions != nil {
		tail = kit.Object{kit.MemberOf("questions", questions)}
	}
	return kit.Join(head, kit.ObjectOf(parameters), tail).JSON()
}
