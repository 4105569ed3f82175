package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/webhooks"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

const (
	// pace is how often the webhooks are read, and each lane looks for what is owed without being woken.
	pace = time.Second
	// orphanPace is how often what is owed to webhooks that are gone or disabled is given up.
	orphanPace = 30 * time.Second
	// orphanLooks is how often, a pace apart, what is owed to a webhook is given up after its lane has
	// ended: until every replica knows, decisions still owe it something.
	orphanLooks = 5
	// recording bounds the recording of what an attempt led to, also after the service was told to stop.
	recording = 5 * time.Second
	// orphanBatch is how many deliveries are given up at once.
	orphanBatch = 100
)

// Store is what a [Deliverer] needs of a store.
type Store interface {
	runs.Door
	DueDeliveries(ctx context.Context, webhookID string, limit int) ([]runs.DueEffect, error)
	DecisionByHandle(ctx context.Context, handle string) (*model.DecidedRequest, error)
	Run(ctx context.Context, runID string) (*model.RunRecord, error)
	EventsWithin(ctx context.Context, q runs.EventQuery) (events []model.Event, more bool, err error)
	Subscribe(notify func(runs.Notice)) (unsubscribe func())
}

// Outcome is what an attempt led to.
type Outcome string

// The outcomes of attempts.
const (
	Delivered Outcome = "delivered"
	// Retried is an attempt that failed and is made again.
	Retried Outcome = "retried"
	// GivenUp is the last one that failed, or one that no retry would help.
	GivenUp Outcome = "given_up"
)

// Options set up a [Deliverer]. Manager and Client must be set.
type Options struct {
	Manager *webhooks.Manager
	Client  *egress.Client
	// ExternalURL is where the service is reached, without a slash at the end; links are without it
	// when it is empty.
	ExternalURL string
	Callbacks   Callbacks
	// Observe is told of each attempt. Nobody is when nil.
	Observe func(Outcome, time.Duration)
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// Deliverer posts what webhooks are owed. Several replicas may do so at once.
type Deliverer struct {
	store   Store
	options Options

	mu    sync.Mutex
	lanes map[string]*lane
	woken chan struct{}
	// callbacks is the lane of the callbacks of requests.
	callbacks *callbackLane
}

// New returns a deliverer that has not started.
func New(store Store, options Options) *Deliverer {
	options.Logger = cmp.Or(options.Logger, slog.Default())
	if options.Observe == nil {
		options.Observe = func(Outcome, time.Duration) {}
	}
	d := &Deliverer{store: store, options: options, lanes: map[string]*lane{}, woken: make(chan struct{}, 1)}
	d.callbacks = newCallbackLane(d)
	return d
}

// Run delivers until ctx ends, and then returns nil once nothing is under way.
func (d *Deliverer) Run(ctx context.Context) error {
	defer d.store.Subscribe(d.heard)()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { d.callbacks.run(ctx) })
	tick := time.NewTicker(pace)
	defer tick.Stop()
	orphans := time.NewTicker(orphanPace)
	defer orphans.Stop()
	d.giveUpOrphans(ctx)
	looks := 0
	for {
		changed, err := d.assign(ctx, &running)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, runs.ErrClosed):
			return err
		case err != nil:
			d.options.Logger.WarnContext(ctx, "webhooks cannot be read", slog.Any("error", err))
		case changed:
			looks = orphanLooks
		}
		if looks > 0 {
			looks--
			d.giveUpOrphans(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-d.woken:
		case <-orphans.C:
			d.giveUpOrphans(ctx)
		}
	}
}

// heard wakes the lanes of webhooks that a commit of this process owes something.
func (d *Deliverer) heard(notice runs.Notice) {
	for _, owed := range notice.Owed {
		rest, found := strings.CutPrefix(owed.EffectID, string(api.EffectDeliverWebhook)+":")
		if !found {
			continue
		}
		webhookID, _, _ := strings.Cut(rest, ":")
		if webhookID == api.CallbackWebhookID {
			wake(d.callbacks.woken)
			continue
		}
		d.mu.Lock()
		l := d.lanes[webhookID]
		d.mu.Unlock()
		if l == nil {
			d.Wake()
			continue
		}
		wake(l.woken)
	}
}

// Wake has the webhooks read at once: one of them was changed.
func (d *Deliverer) Wake() { wake(d.woken) }

func wake(woken chan struct{}) {
	select {
	case woken <- struct{}{}:
	default:
	}
}

// assign gives each webhook that is enabled a lane, and ends the lanes of the others. It returns
// whether one was ended.
func (d *Deliverer) assign(ctx context.Context, running *sync.WaitGroup) (ended bool, err error) {
	endpoints, err := d.options.Manager.List(ctx)
	if err != nil {
		return false, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	enabled := map[string]bool{}
	for i := range endpoints {
		e := &endpoints[i]
		if e.DisabledAtMs != 0 {
			continue
		}
		enabled[e.WebhookID] = true
		if l := d.lanes[e.WebhookID]; l != nil {
			l.endpoint.Store(e)
			continue
		}
		l := newLane(d, e)
		laneCtx, cancel := context.WithCancel(ctx)
		l.stop = cancel
		d.lanes[e.WebhookID] = l
		running.Go(func() {
			defer cancel()
			l.run(laneCtx)
		})
	}
	for webhookID, l := range d.lanes {
		if !enabled[webhookID] {
			l.stop()
			delete(d.lanes, webhookID)
			ended = true
		}
	}
	return ended, nil
}

// giveUpOrphans gives up what is owed to webhooks that are gone or disabled.
func (d *Deliverer) giveUpOrphans(ctx context.Context) {
	for {
		due, err := d.store.DueDeliveries(ctx, "", orphanBatch)
		if err != nil || len(due) == 0 {
			return
		}
		progress := false
		for _, one := range due {
			claimed, err := d.store.Do(ctx, &runs.ClaimEffect{SessionID: one.SessionID, EffectID: one.EffectID})
			if err != nil || claimed.Effect == nil {
				continue
			}
			progress = true
			d.finish(ctx, claimed.Effect, attempt{permanent: true, failure: errors.New("the webhook is deleted or disabled")})
		}
		if !progress {
			return
		}
	}
}

// attempt is what an attempt led to.
type attempt struct {
	failure      error
	permanent    bool
	retryAfterMs int64
	// gone says that the webhook was disabled by it.
	gone bool
}

// deliver attempts one delivery.
func (d *Deliverer) deliver(ctx context.Context, e *webhooks.Endpoint, due runs.DueEffect) result {
	if !model.IsFanOut(due.EffectID) {
		return d.attemptDelivery(ctx, due, func(effect *model.Effect) attempt { return d.try(ctx, e, effect) })
	}
	if _, err := d.store.Do(ctx, &runs.FanOutDeliveries{SessionID: due.SessionID, EffectID: due.EffectID}); err != nil {
		breathe(ctx)
	}
	failpoint.Hit("webhooks.fanned_out")
	return result{due: due}
}

// breathe pauses after what is due could not be claimed: without a pause it would be tried again at once.
func breathe(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(pace):
	}
}

// attemptDelivery claims a delivery, tries it, and records what came of it. A panic is a failure that is
// tried again.
func (d *Deliverer) attemptDelivery(ctx context.Context, due runs.DueEffect, try func(*model.Effect) attempt) result {
	ended := result{due: due}
	claimed, err := d.store.Do(ctx, &runs.ClaimEffect{SessionID: due.SessionID, EffectID: due.EffectID})
	switch {
	case err != nil:
		breathe(ctx)
		return ended
	case claimed.Effect == nil:
		return ended
	}
	failpoint.Hit("webhooks.claimed")
	began := time.Now() //nolint:forbidigo // a span of this process
	made := d.survive(ctx, claimed.Effect, try)
	if ctx.Err() != nil && made.failure != nil && !made.permanent {
		return ended // the lease lapses, and somebody attempts it again
	}
	outcome := Delivered
	switch {
	case made.failure == nil:
	case made.permanent || claimed.Effect.Attempts >= claimed.Effect.MaxAttempts():
		outcome = GivenUp
	default:
		outcome = Retried
	}
	d.options.Observe(outcome, time.Since(began)) //nolint:forbidigo // as above
	d.finish(ctx, claimed.Effect, made)
	if made.gone {
		d.Wake()
	}
	ended.delivered, ended.attempted, ended.gone = made.failure == nil, true, made.gone
	return ended
}

// finish records what an attempt led to. When it cannot, the lease lapses.
func (d *Deliverer) finish(ctx context.Context, effect *model.Effect, made attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recording)
	defer cancel()
	finish := &runs.FinishEffect{
		SessionID: effect.SessionID, EffectID: effect.EffectID, Attempt: effect.Attempts,
		Permanent: made.permanent, RetryAfterMs: made.retryAfterMs,
	}
	attrs := []slog.Attr{
		slog.String("webhook_id", effect.WebhookID), slog.String("session_id", effect.SessionID), slog.Int64("attempts", effect.Attempts),
	}
	if made.failure != nil {
		finish.Error = made.failure.Error()
		d.options.Logger.LogAttrs(ctx, slog.LevelWarn, "webhook failed", append(attrs, slog.Any("error", made.failure))...)
	}
	if _, err := d.store.Do(ctx, finish); err != nil {
		d.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the result of a delivery could not be recorded; it may be sent again", append(attrs, slog.Any("error", err))...)
	}
}

// survive makes a panic a failure.
func (d *Deliverer) survive(ctx context.Context, effect *model.Effect, try func(*model.Effect) attempt) (made attempt) {
	defer func() {
		if cause := recover(); cause != nil {
			d.options.Logger.ErrorContext(ctx, "delivery panicked", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			made = attempt{failure: errors.New("the delivery panicked")}
		}
	}()
	return try(effect)
}

// try posts what a claimed effect owes.
func (d *Deliverer) try(ctx context.Context, e *webhooks.Endpoint, effect *model.Effect) attempt {
	eventID, err := runs.WebhookEvent(effect)
	if err != nil {
		return attempt{failure: err, permanent: true}
	}
	events, _, err := d.store.EventsWithin(ctx, runs.EventQuery{SessionID: effect.SessionID, After: eventID - 1, Kept: true, Limit: 1, MaxBytes: api.MaxReplyBytes})
	switch {
	case refusal.CodeOf(err) != "" || err == nil && (len(events) == 0 || events[0].EventID != eventID):
		return attempt{failure: errors.New("the event is no longer kept"), permanent: true}
	case err != nil:
		return attempt{failure: err}
	}
	m, err := d.messageOf(e, &events[0])
	if err != nil {
		return attempt{failure: err}
	}
	status, retryAfter, err := d.post(ctx, e, m)
	switch {
	case err != nil:
		return attempt{failure: err}
	case status >= 200 && status <= 299:
		return attempt{}
	case status == http.StatusGone:
		if err := d.options.Manager.Disable(ctx, e.WebhookID, webhooks.ReasonGone); err != nil {
			return attempt{failure: fmt.Errorf("status 410, but the webhook could not be disabled: %w", err)}
		}
		return attempt{failure: errors.New("status 410: the endpoint is gone, and the webhook is disabled"), permanent: true, gone: true}
	}
	return attempt{failure: fmt.Errorf("status %d", status), retryAfterMs: retryAfter}
}

// post sends a message and returns the status, and for how long the endpoint wants no other.
func (d *Deliverer) post(ctx context.Context, e *webhooks.Endpoint, m *message) (status int, retryAfterMs int64, err error) {
	header, err := d.signed(e, m, d.options.Manager.NowMs())
	if err != nil {
		return 0, 0, err
	}
	answer, err := d.options.Client.Post(ctx, e.Settings.URL, header, m.body)
	if err != nil {
		return 0, 0, err
	}
	failpoint.Hit("webhooks.posted")
	return answer.Status, retryAfter(answer, d.options.Manager.NowMs()), nil
}

// retryAfter reads the header, which is a number of seconds or a date.
func retryAfter(answer egress.Answer, nowMs int64) int64 {
	if answer.RetryAfter == "" {
		return 0
	}
	if seconds, err := time.ParseDuration(answer.RetryAfter + "s"); err == nil {
		return max(seconds.Milliseconds(), 0)
	}
	if at, err := http.ParseTime(answer.RetryAfter); err == nil {
		return max(at.UnixMilli()-nowMs, 0)
	}
	return 0
}

// Test posts an event of type [TypeTest] to an endpoint, also to a disabled one, once, and says what
// came of it. newID makes the id of the message.
func (d *Deliverer) Test(ctx context.Context, e *webhooks.Endpoint, newID func(prefix string) string) (api.WebhookTest, error) {
	began := time.Now() //nolint:forbidigo // a span of this process
	m, err := d.shape(e, newID("msg"), TypeTest, e.WebhookID, d.options.Manager.NowMs(), "/v1/webhooks/"+e.WebhookID, struct {
		WebhookID string `json:"webhook_id"`
	}{e.WebhookID})
	if err != nil {
		return api.WebhookTest{}, err
	}
	if _, err := d.signed(e, m, d.options.Manager.NowMs()); err != nil {
		return api.WebhookTest{}, err
	}
	status, _, err := d.post(ctx, e, m)
	result := api.WebhookTest{MessageID: m.id, Status: int64(status), Delivered: err == nil && status >= 200 && status <= 299}
	switch {
	case err != nil:
		result.Error = err.Error()
	case !result.Delivered:
		result.Error = fmt.Sprintf("status %d", status)
	}
	result.DurationMs = time.Since(began).Milliseconds() //nolint:forbidigo // as above
	return result, nil
}
