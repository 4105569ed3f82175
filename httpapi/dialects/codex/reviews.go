package codex

import (
	"context"
	"log/slog"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Bounds of the reviews that wait to be asked for, and of the approvals that are
// remembered as asked for.
const (
	maxReviewsWaiting = 256
	maxReviewsKnown   = 8_192
)

// reviews asks for reviews of approvals without delaying the list that found them
// (docs/spec/codex.md#review-hook). The door enqueues a review once for each approval;
// what is remembered here only spares commands.
type reviews struct {
	services kit.Services

	known *lru.Cache[string, bool]

	mu      sync.Mutex
	waiting []*runs.ReviewApproval
	// busy says that there is a goroutine that works on what waits.
	busy bool
}

func newReviews(services kit.Services) *reviews {
	return &reviews{services: services, known: newCache[string, bool](maxReviewsKnown)}
}

// ask returns at once. When too many wait, it does nothing, and the next list asks
// again.
func (v *reviews) ask(request *model.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known.Contains(request.Handle) || len(v.waiting) >= maxReviewsWaiting || v.services.Draining.Err() != nil {
		return
	}
	v.known.Add(request.Handle, true)
	v.waiting = append(v.waiting, &runs.ReviewApproval{RunID: request.RunID, RequestID: request.RequestID, Handle: request.Handle})
	if !v.busy {
		v.busy = true
		go v.work()
	}
}

// work ends when nothing waits, and soon after the service drains.
func (v *reviews) work() {
	for command := v.next(); command != nil; command = v.next() {
		ctx, cancel := context.WithTimeout(v.services.Draining, readTimeout)
		_, err := v.services.Store.Do(ctx, command)
		cancel()
		if err == nil || refusal.CodeOf(err) == api.CodeRunNotFound || refusal.CodeOf(err) == api.CodeRequestNotFound {
			continue
		}
		v.known.Remove(command.Handle)
		if v.services.Draining.Err() == nil {
			v.services.Logger.LogAttrs(ctx, slog.LevelWarn, "ask for the review of an approval",
				slog.String("approval_id", command.Handle), slog.String("error", err.Error()))
		}
	}
}

func (v *reviews) next() *runs.ReviewApproval {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.waiting) == 0 {
		v.busy = false
		return nil
	}
	command := v.waiting[0]
	v.waiting = v.waiting[1:]
	return command
}
