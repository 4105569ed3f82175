package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Defaults of [EffectsOptions].
const (
	DefaultEffectsBatch       = 1000
	DefaultEffectsConcurrency = 32
	DefaultEffectsMaxSleep    = time.Second
)

// reviewTimeout is how long a review may take, so that its lease outlives it.
const reviewTimeout = (model.EffectLeaseMs - 1_000) * time.Millisecond

// errNoReview is why a review is given up that nobody here can make.
var errNoReview = errors.New("no review hook is configured to show the approval to")

// EffectsStore is what the effects loop needs of a runs.Store.
type EffectsStore interface {
	runs.Door
	DueEffects(ctx context.Context, limit int) ([]runs.DueEffect, error)
	Subscribe(notify func(runs.Notice)) (unsubscribe func())
}

// EffectsOptions set up an [Effects]. A zero member takes its default.
type EffectsOptions struct {
	// Batch is how many due effects are asked for at once.
	Batch int
	// Concurrency is how many effects are carried out at once.
	Concurrency int
	// MaxSleep bounds the time between two passes: an effect that another replica
	// left undone is found within it, once its lease has lapsed.
	MaxSleep time.Duration
	// Review shows the payload of a runs.EffectReviewApproval to whoever reviews. It
	// must be idempotent: it may be called again after it returned nil. It has less
	// time than the effect's lease, and an error has it tried again later. When it is
	// nil such an effect is given up: none should be owed.
	Review func(ctx context.Context, payload api.JSON) error
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// Effects carries out what committed decisions owe (design.md §2): it takes the
// lease of each due effect, sends the effect's command through the door or shows its
// payload to a hook, and reports how it went. A process that dies on the way leaves an effect whose lease lapses;
// whoever finds it then tries again, and what was done already is found done.
type Effects struct {
	store   EffectsStore
	options EffectsOptions
}

// EffectsResult says what one pass did.
type EffectsResult struct {
	// Done is how many effects were carried out.
	Done int
	// Failed is how many failed; each of them tells why in its last_error.
	Failed int
}

// NewEffects returns an effects loop that has not started.
func NewEffects(store EffectsStore, options EffectsOptions) *Effects {
	options.Batch = cmp.Or(options.Batch, DefaultEffectsBatch)
	options.Concurrency = cmp.Or(options.Concurrency, DefaultEffectsConcurrency)
	options.MaxSleep = cmp.Or(options.MaxSleep, DefaultEffectsMaxSleep)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	return &Effects{store: store, options: options}
}

// Run makes passes until ctx ends, and then returns nil: at once after a commit of
// this process that owes something, and else every MaxSleep. It returns an error that
// wraps runs.ErrClosed when the store was closed.
func (e *Effects) Run(ctx context.Context) error {
	var group errgroup.Group
	for _, share := range e.shares() {
		group.Go(func() error { return e.runShare(ctx, share) })
	}
	return group.Wait()
}

// share is a part of the effects with passes of its own.
type share func(effectID string) bool

// shares parts what is carried out outside, which may be slow, from the rest: a hook
// that hangs must not hold up what one session owes another.
func (e *Effects) shares() []share {
	if e.options.Review == nil {
		return []share{func(string) bool { return true }}
	}
	outside := func(effectID string) bool {
		return model.CarriedOutWhere(model.EffectKindOf(effectID)) == model.CarriedOutOutside
	}
	return []share{func(effectID string) bool { return !outside(effectID) }, outside}
}

func (e *Effects) runShare(ctx context.Context, share share) error {
	wake := make(chan struct{}, 1)
	unsubscribe := e.store.Subscribe(func(notice runs.Notice) {
		if !slices.ContainsFunc(notice.Owed, func(due runs.DueEffect) bool { return share(due.EffectID) }) {
			return
		}
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	defer unsubscribe()
	r := runner{name: "effects", logger: e.options.Logger, wake: wake}
	r.pass = func(ctx context.Context) (outcome, error) {
		result, err := e.pass(ctx, share)
		done := outcome{next: e.options.MaxSleep}
		if result.Failed > 0 {
			done.attrs = []slog.Attr{slog.Int("done_effects", result.Done), slog.Int("failed_effects", result.Failed)}
		}
		return done, err
	}
	return r.run(ctx)
}

// RunOnce carries out what is due until nothing is left that it has not tried. An
// effect that fails does not stop the others. It returns the first failure of the
// door itself, together with what was done; a refusal by the domain is recorded with
// the effect and is no failure of the pass.
func (e *Effects) RunOnce(ctx context.Context) (EffectsResult, error) {
	var result EffectsResult
	var firstErr error
	for _, share := range e.shares() {
		done, err := e.pass(ctx, share)
		result.Done += done.Done
		result.Failed += done.Failed
		firstErr = cmp.Or(firstErr, err)
	}
	return result, firstErr
}

// pass is RunOnce for one share.
func (e *Effects) pass(ctx context.Context, share share) (EffectsResult, error) {
	var result EffectsResult
	tried := map[runs.DueEffect]bool{}
	for limit := e.options.Batch; ; {
		due, err := e.store.DueEffects(ctx, limit)
		if err != nil {
			return result, fmt.Errorf("find due effects: %w", err)
		}
		var fresh []runs.DueEffect
		others := 0
		for _, effect := range due {
			switch {
			case !share(effect.EffectID):
				others++
			case !tried[effect]:
				tried[effect] = true
				fresh = append(fresh, effect)
			}
		}
		switch {
		case len(fresh) > 0:
			if err := e.carryOutAll(ctx, fresh, &result); err != nil {
				return result, err
			}
		case others > 0 && len(due) == limit:
			limit *= 2 // this share's may stand behind the other's
		default:
			return result, nil
		}
	}
}

func (e *Effects) carryOutAll(ctx context.Context, due []runs.DueEffect, result *EffectsResult) error {
	var mu sync.Mutex
	var firstErr error
	var group errgroup.Group
	group.SetLimit(e.options.Concurrency)
	for _, effect := range due {
		group.Go(func() error {
			how, err := e.carryOut(ctx, effect)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				firstErr = cmp.Or(firstErr, fmt.Errorf("effect %s: %w", effect.EffectID, err))
			}
			switch {
			case err != nil, how == effectFailed:
				result.Failed++
			case how == effectDone:
				result.Done++
			}
			return nil
		})
	}
	_ = group.Wait() // none returns one
	return firstErr
}

// What became of an attempt.
type effectOutcome int

const (
	effectTaken  effectOutcome = iota // somebody else has it, or has done it
	effectDone                        // carried out
	effectFailed                      // refused or failed, which its row tells
)

// carryOut tries one effect. The error is one of the door, which says nothing about
// the effect; its lease lapses then, unless the failure could be recorded.
func (e *Effects) carryOut(ctx context.Context, due runs.DueEffect) (effectOutcome, error) {
	claimed, err := e.store.Do(ctx, &runs.ClaimEffect{SessionID: due.SessionID, EffectID: due.EffectID})
	if err != nil || claimed.Effect == nil {
		return effectTaken, err
	}
	effect := claimed.Effect
	permanent, failure := e.perform(ctx, effect, claimed.NowMs)
	if ctx.Err() != nil || errors.Is(failure, runs.ErrClosed) {
		return effectTaken, failure
	}
	finish := &runs.FinishEffect{SessionID: effect.SessionID, EffectID: effect.EffectID, Attempt: effect.Attempts}
	how := effectDone
	if failure != nil {
		how = effectFailed
		finish.Error = failure.Error()
		finish.Permanent = permanent
		e.options.Logger.WarnContext(ctx, "effect failed", slog.String("effect_id", effect.EffectID),
			slog.String("session_id", effect.SessionID), slog.Int64("attempts", effect.Attempts), slog.Any("error", failure))
	}
	if _, err := e.store.Do(ctx, finish); err != nil {
		return effectTaken, errors.Join(failure, err)
	}
	return how, nil
}

// perform carries an effect out. It returns why that failed, if it did, and whether
// trying again will not help.
func (e *Effects) perform(ctx context.Context, effect *model.Effect, nowMs int64) (permanent bool, failure error) {
	switch model.CarriedOutWhere(effect.Kind) {
	case model.CarriedOutInside:
		err := e.command(ctx, effect, nowMs)
		return refusal.CodeOf(err) != "", err
	case model.CarriedOutOutside:
		if e.options.Review == nil {
			return true, errNoReview
		}
		ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
		defer cancel()
		return false, e.options.Review(ctx, effect.Payload)
	case model.CarriedOutNowhere:
	}
	// A newer replica may have written it, and will know it.
	return false, fmt.Errorf("this version does not know effects of kind %q", effect.Kind)
}

// command sends the effect's command through the door, or the one that takes its
// place when the target session is over.
func (e *Effects) command(ctx context.Context, effect *model.Effect, nowMs int64) error {
	_, err := e.store.Do(ctx, runs.CommandOf(effect))
	if instead := runs.CommandWhenRefused(effect, refusal.CodeOf(err), nowMs); instead != nil {
		_, err = e.store.Do(ctx, instead)
	}
	return err
}
