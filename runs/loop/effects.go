package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/panics"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

const (
	defaultEffectsBatch = 1000
	// effectsConcurrency is how many effects are performed at once.
	effectsConcurrency = 32
	// effectsMaxSleep bounds the time between passes. An effect whose replica died is found within
	// it, once its lease has lapsed.
	effectsMaxSleep = time.Second
	// reviewTimeout ends a review before its lease.
	reviewTimeout = (model.EffectLeaseMs - 1_000) * time.Millisecond
)

// errNoReview fails a review without a hook.
var errNoReview = errors.New("no review hook is configured to show the approval to")

// EffectsStore is the part of a runs.Store that the effects loop uses.
type EffectsStore interface {
	runs.Door
	DueEffects(ctx context.Context, limit int) ([]reads.DueEffect, error)
	Subscribe(notify func(reads.Notice)) (unsubscribe func())
}

// EffectsOptions configure an [Effects]. Zero members have defaults.
type EffectsOptions struct {
	// Review shows the payload of an api.EffectReviewApproval to a reviewer. It must be
	// idempotent: it may be called again after it returned nil. Its context ends before the
	// effect's lease does. After an error it is retried. If Review is nil, such effects fail
	// permanently.
	Review func(ctx context.Context, payload api.JSON) error
	// Recipients sets the people to notify in the command of an api.EffectAdvanceRequest. When it is nil, an
	// attempt fails and is retried, because another replica may have channels.
	Recipients func(ctx context.Context, advance *runs.AdvanceRequest) error
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// batch is the maximum number of due effects per query.
	batch int
}

// Effects performs the effects of committed decisions, the outbox. It claims each due effect,
// sends its command through the door or its payload to a hook, and records the result. If the
// process dies in between, the lease lapses and any replica retries. Effects are idempotent, so
// a retry changes nothing that was done.
type Effects struct {
	store   EffectsStore
	options EffectsOptions
	backoff backoff[reads.DueEffect]
	// slow has effects that take long, for example in locked sessions.
	slow    stragglers[reads.DueEffect]
	serving *serving
}

// EffectsResult is the result of a pass.
type EffectsResult struct {
	// Done counts the performed effects.
	Done int
	// Failed counts the failed ones. The last_error of each says why.
	Failed int
}

// NewEffects returns an effects loop that has not started.
func NewEffects(store EffectsStore, options EffectsOptions) *Effects {
	options.batch = cmp.Or(options.batch, defaultEffectsBatch)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	return &Effects{store: store, options: options, serving: newServing()}
}

// Run makes passes until ctx ends, and then returns nil. A pass starts right after a commit of
// this process that adds an effect, otherwise every effectsMaxSleep. Run returns an error that wraps
// runs.ErrClosed if the store was closed. An effect whose claim or result cannot be recorded is
// delayed by up to lastPause; a slow effect, for example in a locked session, continues in the
// background. Neither delays other effects.
func (e *Effects) Run(ctx context.Context) error {
	defer e.slow.wait()
	var group errgroup.Group
	for _, share := range e.shares() {
		r := runner{name: "effects", logger: e.options.Logger, store: e.store, wakes: func(notice reads.Notice) bool {
			return slices.ContainsFunc(notice.Owed, share.mine)
		}}
		r.pass = func(ctx context.Context) (outcome, error) {
			paused := e.backoff.active()
			maps.Copy(paused, e.slow.items())
			result, failure, err := e.pass(ctx, share, paused, e.slow.each)
			late := e.slow.ended()
			result.Failed += late.failed
			failure = cmp.Or(failure, late.first)
			done := outcome{next: effectsMaxSleep}
			logItemFailure(ctx, r.logger, r.name, result.Failed, failure)
			if result.Failed > 0 {
				done.attrs = []slog.Attr{slog.Int("done_effects", result.Done), slog.Int("failed_effects", result.Failed)}
			}
			return done, err
		}
		group.Go(func() error { return r.run(ctx) })
	}
	return group.Wait()
}

// share is a part of the effects with its own passes.
type share struct {
	mine func(reads.DueEffect) bool
	// outside: a hook performs them, with this concurrency of its own.
	outside bool
}

// shares separates effects performed by a hook, which may be slow, from the rest: a hook that
// hangs must not delay effects between sessions.
func (e *Effects) shares() []share {
	if e.options.Review == nil {
		return []share{{mine: func(due reads.DueEffect) bool { return carriedOut(due) != model.CarriedOutDelivered }}}
	}
	return []share{
		{mine: func(due reads.DueEffect) bool {
			where := carriedOut(due)
			return where != model.CarriedOutOutside && where != model.CarriedOutDelivered
		}},
		{mine: func(due reads.DueEffect) bool { return carriedOut(due) == model.CarriedOutOutside }, outside: true},
	}
}

func carriedOut(due reads.DueEffect) model.CarriedOut {
	return model.CarriedOutWhere(model.EffectKindOf(due.EffectID))
}

// RunOnce performs due effects until it has tried all. A failed effect does not stop the others.
// It returns the first failure of the door itself, together with the result so far. Rejections
// by the domain are recorded with the effect and not returned.
func (e *Effects) RunOnce(ctx context.Context) (EffectsResult, error) {
	var result EffectsResult
	var firstErr error
	for _, share := range e.shares() {
		done, failure, err := e.pass(ctx, share, nil, forEach[reads.DueEffect])
		result.Done += done.Done
		result.Failed += done.Failed
		firstErr = cmp.Or(firstErr, err, failure)
	}
	return result, firstErr
}

// each performs effects concurrently. It may return while some continue.
type each func(ctx context.Context, concurrency int, due []reads.DueEffect, do func(context.Context, reads.DueEffect) error) tally

// pass is RunOnce for the effects of one share, without the delayed ones. It returns the first
// failure of the door for an effect, and the error that ended the pass, if any.
func (e *Effects) pass(ctx context.Context, of share, paused map[reads.DueEffect]bool, each each) (result EffectsResult, failure, err error) {
	var done, failed atomic.Int64
	defer func() { result = EffectsResult{Done: int(done.Load()), Failed: int(failed.Load())} }()
	e.serving.lasted()
	tried := maps.Clone(paused)
	if tried == nil {
		tried = map[reads.DueEffect]bool{}
	}
	if of.outside {
		each = forEach[reads.DueEffect]
	}
	for limit := e.options.batch; ; {
		due, err := e.store.DueEffects(ctx, limit)
		if err != nil {
			return result, failure, fmt.Errorf("find due effects: %w", err)
		}
		untried := slices.DeleteFunc(slices.Clone(due), func(effect reads.DueEffect) bool { return !of.mine(effect) || tried[effect] })
		for _, effect := range untried {
			tried[effect] = true
		}
		if len(untried) == 0 {
			if len(due) < limit {
				return result, failure, nil
			}
			limit *= 2 // untried effects may come after failed ones and other shares
			continue
		}
		ended := each(ctx, effectsConcurrency, untried, func(ctx context.Context, effect reads.DueEffect) error {
			how, err := e.carryOut(ctx, effect)
			if err != nil {
				failed.Add(1)
				e.backoff.failed(effect)
				return fmt.Errorf("effect %s: %w", effect.EffectID, err)
			}
			e.backoff.succeeded(effect)
			switch how {
			case effectFailed:
				failed.Add(1)
			case effectDone:
				done.Add(1)
			case effectSkipped:
			}
			return nil
		})
		failure = cmp.Or(failure, ended.first)
		if errors.Is(ended.first, runs.ErrClosed) {
			return result, failure, ended.first
		}
		if ctx.Err() != nil {
			return result, failure, nil
		}
	}
}

// effectOutcome is the result of trying an effect.
type effectOutcome int

const (
	effectSkipped effectOutcome = iota // another replica has claimed or performed it
	effectDone                         // performed
	effectFailed                       // rejected or failed; its row says why
)

// carryOut claims an effect, performs it, and records the result. An error comes from the door
// and says nothing about the effect. Its lease then lapses, unless the failure could be
// recorded.
func (e *Effects) carryOut(ctx context.Context, due reads.DueEffect) (effectOutcome, error) {
	claimed, err := e.store.Do(ctx, &runs.ClaimEffect{SessionID: due.SessionID, EffectID: due.EffectID})
	if err != nil || claimed.Effect == nil {
		return effectSkipped, err
	}
	effect := claimed.Effect
	if model.CarriedOutWhere(effect.Kind) == model.CarriedOutLater {
		return e.lookAgain(ctx, effect)
	}
	permanent, failure := e.tryToPerform(ctx, effect, claimed.NowMs)
	if ctx.Err() != nil || errors.Is(failure, runs.ErrClosed) {
		return effectSkipped, failure
	}
	return e.finish(ctx, effect, permanent, failure)
}

// finish records the result of an attempt.
func (e *Effects) finish(ctx context.Context, effect *model.Effect, permanent bool, failure error) (effectOutcome, error) {
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
		return effectSkipped, errors.Join(failure, err)
	}
	return how, nil
}

// lookAgain performs an effect whose command decides when it is done and when to check again.
func (e *Effects) lookAgain(ctx context.Context, effect *model.Effect) (effectOutcome, error) {
	command, err := runs.CommandOf(effect)
	if err != nil {
		return e.finish(ctx, effect, true, err)
	}
	if abandoned, ok := command.(*runs.CancelAbandoned); ok {
		abandoned.ServingForMs = e.serving.lasted().Milliseconds()
	}
	if advance, ok := command.(*runs.AdvanceRequest); ok {
		if err := e.recipients(ctx, advance); err != nil {
			return e.finish(ctx, effect, false, err)
		}
	}
	reply, err := e.store.Do(ctx, command)
	if err != nil || reply.Effect.State == api.EffectPending {
		return effectSkipped, err
	}
	return effectDone, nil
}

// errNoChannels is the failure of an effect that would tell people, at a replica that cannot.
var errNoChannels = errors.New("this replica has no channels to tell people by")

func (e *Effects) recipients(ctx context.Context, advance *runs.AdvanceRequest) error {
	if e.options.Recipients == nil {
		return errNoChannels
	}
	return e.options.Recipients(ctx, advance)
}

// tryToPerform is perform, with panics as failures that are retried.
func (e *Effects) tryToPerform(ctx context.Context, effect *model.Effect, nowMs int64) (permanent bool, failure error) {
	defer panics.Recover(e.options.Logger, "effect "+effect.EffectID, &failure)
	return e.perform(ctx, effect, nowMs)
}

// perform performs a claimed effect. It returns the failure, and whether retrying is pointless.
func (e *Effects) perform(ctx context.Context, effect *model.Effect, nowMs int64) (permanent bool, failure error) {
	switch model.CarriedOutWhere(effect.Kind) {
	case model.CarriedOutInside:
		command, err := runs.CommandOf(effect)
		if err != nil {
			return true, err
		}
		err = e.command(ctx, effect, command, nowMs)
		code := refusal.CodeOf(err)
		return code != "" && !runs.Passes(code), err
	case model.CarriedOutOutside:
		if e.options.Review == nil {
			return true, errNoReview
		}
		ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
		defer cancel()
		return false, e.options.Review(ctx, effect.Payload)
	case model.CarriedOutLater, model.CarriedOutDelivered, model.CarriedOutNowhere:
	}
	// A newer version may have written it and will perform it.
	return false, fmt.Errorf("this version does not know effects of kind %q", effect.Kind)
}

// repeat sends a command until its work is done.
func (e *Effects) repeat(ctx context.Context, command runs.Command) error {
	for {
		reply, err := e.store.Do(ctx, command)
		if err != nil || !reply.More {
			return err
		}
	}
}

// command sends the effect's command through the door, or its replacement if the target session
// rejects it permanently.
func (e *Effects) command(ctx context.Context, effect *model.Effect, command runs.Command, nowMs int64) error {
	err := e.repeat(ctx, command)
	instead, unreadable := runs.CommandWhenRefused(effect, refusal.CodeOf(err), nowMs)
	if unreadable != nil {
		return unreadable
	}
	if instead != nil {
		_, err = e.store.Do(ctx, instead)
	}
	return err
}
