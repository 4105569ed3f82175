package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/runs"
)

// Defaults of [EffectsOptions].
const (
	DefaultEffectsBatch       = 1000
	DefaultEffectsConcurrency = 32
	DefaultEffectsMaxSleep    = time.Second
)

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
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// Effects carries out what committed decisions owe (design.md §2): it takes the
// lease of each due effect, sends the effect's command through the door, and reports
// how it went. A process that dies on the way leaves an effect whose lease lapses;
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
	wake := make(chan struct{}, 1)
	unsubscribe := e.store.Subscribe(func(notice runs.Notice) {
		if len(notice.Owed) == 0 {
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
		result, err := e.RunOnce(ctx)
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
	tried := map[runs.DueEffect]bool{}
	for {
		due, err := e.store.DueEffects(ctx, e.options.Batch)
		if err != nil {
			return result, fmt.Errorf("find due effects: %w", err)
		}
		fresh := due[:0:0]
		for _, effect := range due {
			if !tried[effect] {
				tried[effect] = true
				fresh = append(fresh, effect)
			}
		}
		if len(fresh) == 0 {
			return result, nil
		}
		if err := e.carryOutAll(ctx, fresh, &result); err != nil {
			return result, err
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
	refusal := e.perform(ctx, effect, claimed.NowMs)
	if ctx.Err() != nil || errors.Is(refusal, runs.ErrClosed) {
		return effectTaken, refusal
	}
	finish := &runs.FinishEffect{SessionID: effect.SessionID, EffectID: effect.EffectID, Attempt: effect.Attempts}
	how := effectDone
	if refusal != nil {
		how = effectFailed
		finish.Error = refusal.Error()
		finish.Permanent = runs.ErrorCode(refusal) != ""
		e.options.Logger.WarnContext(ctx, "effect failed", slog.String("effect_id", effect.EffectID),
			slog.String("session_id", effect.SessionID), slog.Int64("attempts", effect.Attempts), slog.Any("error", refusal))
	}
	if _, err := e.store.Do(ctx, finish); err != nil {
		return effectTaken, errors.Join(refusal, err)
	}
	return how, nil
}

// perform sends the effect's command through the door, or the one that takes its
// place when the target session is over.
func (e *Effects) perform(ctx context.Context, effect *runs.Effect, nowMs int64) error {
	_, err := e.store.Do(ctx, effect.Command())
	if instead := effect.Refused(runs.ErrorCode(err), nowMs); instead != nil {
		_, err = e.store.Do(ctx, instead)
	}
	return err
}
