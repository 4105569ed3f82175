package stream

import (
	"context"
	"slices"
	"sync"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// snapshotWithin returns the part of a snapshot in the follower's scope. When the snapshot is
// incomplete, the missing requests may be in the scope, so the follower reads its own.
func (f *inboxFollower) snapshotWithin(ctx context.Context, all *InboxSnapshot) (*InboxSnapshot, error) {
	if !f.scope.Bounded() {
		return all, nil
	}
	if all.More || f.scope.OwnedBy != "" { // a snapshot does not have the owners of runs
		return readOpen(ctx, f.inbox.hub.options.Store, f.scope)
	}
	snapshot := newSnapshot()
	snapshot.NowMs, snapshot.asked = all.NowMs, all.asked
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

// batchesWithin returns the part of batches in the follower's scope.
func (f *inboxFollower) batchesWithin(ctx context.Context, all []*batch) ([]*batch, error) {
	if !f.scope.Bounded() {
		return all, nil
	}
	var batches []*batch
	for _, one := range all {
		var owners map[string]reads.Owners
		if f.scope.OwnedBy != "" {
			var err error
			if owners, err = one.owners.read(ctx, f.inbox.hub.options.Store, one.published); err != nil {
				return nil, err
			}
		}
		var events []*model.Event
		for _, event := range one.published {
			its := owners[event.RunID]
			if f.scope.Fits(event.SessionID, event.AgentID, its.Principal, its.HolderPrincipal) {
				events = append(events, event)
			}
		}
		if len(events) > 0 {
			batches = append(batches, newBatch(one.number, events))
		}
	}
	return batches, nil
}

// batchOwners are the owners of a batch's runs, read once for all followers that need them.
type batchOwners struct {
	mu    sync.Mutex
	known map[string]reads.Owners
}

// read returns the owners. After an error the next follower reads again.
func (o *batchOwners) read(ctx context.Context, store Store, events []*model.Event) (map[string]reads.Owners, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known != nil {
		return o.known, nil
	}
	var runIDs []string
	for _, event := range events {
		runIDs = append(runIDs, event.RunID)
	}
	slices.Sort(runIDs)
	known, err := store.Owners(ctx, slices.Compact(runIDs))
	if err != nil {
		return nil, err
	}
	o.known = known
	return known, nil
}
