package stream

import (
	"context"

	"github.com/holdpoint/holdpoint/runs/model"
)

// snapshotWithin returns what a snapshot has within the follower's scope. Where the snapshot does
// not have all that is open, what is missing may be the follower's: it reads its own.
func (f *inboxFollower) snapshotWithin(ctx context.Context, all *InboxSnapshot) (*InboxSnapshot, error) {
	if !f.scope.Bounded() {
		return all, nil
	}
	if all.More {
		return readOpen(ctx, f.inbox.hub.store, f.scope)
	}
	snapshot := newSnapshot()
	snapshot.NowMs = all.NowMs
	for i := range all.Pending {
		one := &all.Pending[i]
		if !f.scope.Fits(one.Request.SessionID, one.AgentID) {
			continue
		}
		snapshot.Pending = append(snapshot.Pending, *one)
		if one.Request.Kind == model.KindApproval {
			snapshot.ApprovalsCount++
		} else {
			snapshot.QuestionsCount++
		}
	}
	return snapshot, nil
}

// batchesWithin returns what batches have within the follower's scope.
func (f *inboxFollower) batchesWithin(all []*batch) []*batch {
	if !f.scope.Bounded() {
		return all
	}
	var batches []*batch
	for _, one := range all {
		var events []*model.Event
		for _, event := range one.published {
			if f.scope.Fits(event.SessionID, event.AgentID) {
				events = append(events, event)
			}
		}
		if len(events) > 0 {
			batches = append(batches, newBatch(one.number, events))
		}
	}
	return batches
}
