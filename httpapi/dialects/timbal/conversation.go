package timbal

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// conversation is what a start continues (docs/spec/timbal.md#conversation).
type conversation struct {
	// sessionID is the parent's session, or a new one.
	sessionID string
	// found is the run that parent_id names, empty for none.
	found string
	// parent is nil when the start begins a conversation.
	parent *model.RunRecord
	// paused is the session's run that waits for a person, nil for none.
	paused *model.RunRecord
}

// conversationOf finds the run that a parent_id names. With an unknown parent, or one of another
// agent, the start gets its own session.
func (f *face) conversationOf(ctx context.Context, parentID, agentID string) (*conversation, error) {
	from := &conversation{sessionID: kit.NewSessionID(ctx)}
	if parentID == "" {
		return from, nil
	}
	_, parent, err := f.find(ctx, parentID)
	if refusal.CodeOf(err) == api.CodeRunNotFound {
		return from, nil
	}
	if err != nil {
		return nil, err
	}
	from.found = parent.Run.RunID
	if parent.Run.AgentID != agentID || parent.Run.Kind != api.KindInput {
		return from, nil
	}
	from.sessionID, from.parent = parent.Run.SessionID, parent
	session, err := f.Store.Reader(ctx).SessionHead(ctx, from.sessionID)
	if err != nil || session.ActiveRunID == "" {
		return from, err
	}
	active := parent
	if session.ActiveRunID != parent.Run.RunID {
		if active, err = f.Store.Reader(ctx).Run(ctx, session.ActiveRunID); err != nil {
			return nil, err
		}
	}
	if model.Waiting(active.Run.Status) && active.Run.AgentID == agentID {
		from.paused = active
	}
	return from, nil
}

// warningPaused: the message did not start anything.
const warningPaused = "the run waits for what is shown here; the message was not taken, so send it again afterwards"

// showPaused returns the resumption that shows what a paused run waits for. Errors: 422 for an
// invalid context.id.
func (c *conversation) showPaused(given *call, key string, actor runs.Actor) (*resumption, error) {
	again := *given
	again.resume = nil
	chosen, err := newName(&again)
	return &resumption{
		given: &again, parent: segmentID{runID: c.paused.Run.RunID}, record: c.paused, key: key, name: chosen, actor: actor,
		notes: map[string]string{}, warnings: []string{warningPaused},
	}, err
}

// Limits of an input's history.
const (
	maxHistoryBytes = 1 << 20
	maxHistoryRuns  = 100
)

// Members that a start adds to its input.
const (
	memberHistory   = "history"
	memberTruncated = "history_truncated"
)

// withHistory adds the conversation's inputs and outputs to a start's parameters, the newest that
// fit. Existing history is kept.
func (f *face) withHistory(ctx context.Context, params api.JSON, from *conversation) (api.JSON, error) {
	if from.parent == nil || kit.Get(params, memberHistory) != nil {
		return params, nil
	}
	entries, err := f.historyOf(ctx, from.parent)
	if err != nil {
		return nil, err
	}
	first, size := len(entries), 0
	for first > 0 {
		if size += len(entries[first-1]); size > maxHistoryBytes && first < len(entries) {
			break
		}
		first--
	}
	input := append(kit.ObjectOf(params), kit.MemberOf(memberHistory, entries[first:]))
	if first > 0 {
		input = append(input, kit.MemberOf(memberTruncated, true))
	}
	return encodeRaw(input), nil
}

// historyOf returns an entry for each finished run of a conversation up to the given one, oldest
// first. A run that continues another has the earlier history in its input. For other runs it is
// the older runs of the session.
func (f *face) historyOf(ctx context.Context, last *model.RunRecord) ([]api.JSON, error) {
	var older []model.RunRecord
	var entries []api.JSON
	for runID := last.Run.RunID; len(entries) < maxHistoryRuns; {
		record, err := f.Store.Reader(ctx).ClaimedRun(ctx, runID)
		if err != nil {
			return nil, err
		}
		run := &record.Run
		if model.Terminal(run.Status) && run.Kind == api.KindInput {
			entries = append(entries, historyEntry(run))
		}
		if before, ok := addedHistory(run); ok {
			slices.Reverse(before)
			entries = append(entries, before...)
			break
		}
		if older == nil {
			older, err = f.Store.Reader(ctx).Runs(ctx, reads.RunQuery{
				SessionID: run.SessionID, Last: true, Limit: maxHistoryRuns, Budget: &reads.Budget{MaxBytes: api.MaxReplyBytes},
			})
			if err != nil {
				return nil, err
			}
		}
		at := slices.IndexFunc(older, func(one model.RunRecord) bool { return one.Run.RunID == runID })
		if at <= 0 {
			break
		}
		runID = older[at-1].Run.RunID
	}
	slices.Reverse(entries)
	return entries, nil
}

func historyEntry(run *model.Run) api.JSON {
	entry := kit.Object{
		kit.MemberOf("run_id", run.RunID), kit.MemberOf("status", run.Status), kit.MemberOf("input", withoutHistory(run)),
	}
	if run.Output != nil {
		entry = append(entry, kit.MemberOf("output", run.Output))
	}
	if run.Error != "" {
		entry = append(entry, kit.MemberOf("error", run.Error))
	}
	return encodeRaw(entry)
}

// addedHistory returns the history that a start added to a run's input. It is recognized by its
// newest entry, which is the parent's.
func addedHistory(run *model.Run) (entries []api.JSON, ok bool) {
	if run.Request.SourcePlugin != Via || run.ParentRunID == "" || document.Kind(run.Input) != '{' {
		return nil, false
	}
	entries = kit.Elements(kit.Get(run.Input, memberHistory))
	if len(entries) == 0 || kit.Text(kit.Get(entries[len(entries)-1], "run_id")) != run.ParentRunID {
		return nil, false
	}
	return entries, true
}

// withoutHistory returns a run's input as its caller sent it.
func withoutHistory(run *model.Run) api.JSON {
	if _, ok := addedHistory(run); !ok {
		return run.Input
	}
	return encodeRaw(slices.DeleteFunc(kit.ObjectOf(run.Input), func(m kit.Member) bool {
		return m.Name == memberHistory || m.Name == memberTruncated
	}))
}
