package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// Outcome is the result of an attempt.
type Outcome string

// The outcomes of attempts.
const (
	Delivered Outcome = "delivered"
	// Retried is a failed attempt that will be retried.
	Retried Outcome = "retried"
	// GivenUp is the last failed attempt, or one that no retry would help.
	GivenUp Outcome = "given_up"
)

// recording bounds the recording of a result, even during shutdown.
const recording = 5 * time.Second

// attempt is the result of an attempt. Without a failure the delivery is done.
type attempt struct {
	failure      error
	permanent    bool
	retryAfterMs int64
	// unsent says that a message to a person was not sent by itself, and need not be.
	unsent bool
	// sentForOthers says that an unsent message was sent as one that counts others.
	sentForOthers bool
	// putOffMs says that the attempt was not made, and how long the delivery is held back. why may say why.
	putOffMs int64
	why      string
	// goneMs is the UpdatedAtMs of the webhook that the answer disabled, 0 if it disabled none.
	goneMs int64
}

// answered returns the result of a call.
func answered(answer egress.Answer, err error, nowMs int64) attempt {
	switch {
	case err != nil:
		return attempt{failure: err}
	case !answer.Taken():
		return attempt{failure: fmt.Errorf("status %d", answer.Status), retryAfterMs: answer.PauseMs(nowMs)}
	}
	return attempt{}
}

// breathe pauses after a failed claim, which would otherwise be retried at once.
func breathe(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(pace):
	}
}

// attemptDelivery claims a delivery, attempts it, and records the result. A panic counts as
// a failure to be retried.
func (d *Deliverer) attemptDelivery(ctx context.Context, due reads.DueEffect, try func(context.Context, *model.Effect) attempt) result {
	ended := result{due: due}
	claimed, err := d.store.Do(ctx, &runs.ClaimEffect{SessionID: due.SessionID, EffectID: due.EffectID})
	switch {
	case err != nil:
		breathe(ctx)
		ended.unclaimed = refusal.CodeOf(err) == ""
		return ended
	case claimed.Effect == nil:
		return ended
	}
	failpoint.Hit("webhooks.claimed")
	began := time.Now() //nolint:forbidigo // a span of this process
	made := d.survive(ctx, claimed.Effect, try)
	if ctx.Err() != nil && made.failure != nil && !made.permanent {
		return ended // the lease expires, and the delivery is attempted again
	}
	if made.putOffMs > 0 || made.unsent && !made.sentForOthers {
		d.finish(ctx, claimed.Effect, made)
		return ended
	}
	outcome := Delivered
	switch {
	case made.failure == nil:
	case made.permanent || claimed.Effect.Attempts >= claimed.Effect.MaxAttempts():
		outcome = GivenUp
	default:
		outcome = Retried
	}
	channel, _ := model.NoticeChannel(due.EffectID)
	d.options.Observe(channel, outcome, time.Since(began)) //nolint:forbidigo // as above
	d.finish(ctx, claimed.Effect, made)
	if made.goneMs != 0 {
		d.Wake()
	}
	ended.delivered, ended.attempted, ended.goneMs = made.failure == nil, true, made.goneMs
	return ended
}

// finish records the result of an attempt. If that fails, the lease expires.
func (d *Deliverer) finish(ctx context.Context, effect *model.Effect, made attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recording)
	defer cancel()
	finish := &runs.FinishEffect{
		SessionID: effect.SessionID, EffectID: effect.EffectID, Attempt: effect.Attempts,
		Permanent: made.permanent, RetryAfterMs: made.retryAfterMs, PutOffMs: made.putOffMs, Error: made.why, Unsent: made.unsent,
	}
	attrs := []slog.Attr{slog.String("session_id", effect.SessionID), slog.Int64("attempts", effect.Attempts)}
	if channel, is := model.NoticeChannel(effect.EffectID); is {
		finish.RunID = effect.RunID
		if notice, err := model.NoticeOf(effect); err == nil && made.failure != nil {
			finish.RequestHandle = notice.RequestHandle
			if finish.Next, err = d.next(ctx, effect, made); err != nil {
				// Without the person's addresses it cannot be given up. The lease expires, and it is attempted again.
				d.options.Logger.WarnContext(ctx, "the next address of a person cannot be read", slog.String("run_id", effect.RunID), slog.Any("error", err))
				return
			}
		}
		attrs = append(attrs, slog.String("channel", channel), slog.String("run_id", effect.RunID))
	} else {
		attrs = append(attrs, slog.String("webhook_id", effect.WebhookID))
	}
	if made.failure != nil {
		finish.Error = made.failure.Error()
		attrs := append(slices.Clone(attrs), slog.Any("error", made.failure))
		if finish.RunID != "" {
			d.options.Logger.LogAttrs(ctx, slog.LevelWarn, "notification failed", attrs...)
		} else {
			d.options.Logger.LogAttrs(ctx, slog.LevelWarn, "webhook failed", attrs...)
		}
	}
	if _, err := d.store.Do(ctx, finish); err != nil {
		d.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the result of a delivery could not be recorded; it may be sent again", append(attrs, slog.Any("error", err))...)
	}
}

// survive calls try, which ends before the lease of the effect. It turns a panic into a failure.
func (d *Deliverer) survive(ctx context.Context, effect *model.Effect, try func(context.Context, *model.Effect) attempt) (made attempt) {
	ctx, cancel := context.WithTimeout(ctx, model.WebhookAttemptMs*time.Millisecond)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			d.options.Logger.ErrorContext(ctx, "delivery panicked", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			made = attempt{failure: errors.New("the delivery panicked")}
		}
	}()
	return try(ctx, effect)
}
