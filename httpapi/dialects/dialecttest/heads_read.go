package dialecttest

import (
	"context"
	"sync/atomic"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// HeadsRead is a store that counts reads of one session.
type HeadsRead struct {
	runs.Store
	Count atomic.Int64
}

// Within implements runs.Store.
func (s *HeadsRead) Within(reads.Scope) reads.Reader { return s }

// SessionHead implements reads.Reader.
func (s *HeadsRead) SessionHead(ctx context.Context, sessionID string) (*model.Session, error) {
	s.Count.Add(1)
	return s.Store.SessionHead(ctx, sessionID)
}
