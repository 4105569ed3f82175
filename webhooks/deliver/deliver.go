package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/webhooks"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

const (
	// pace is the interval at which webhooks are read and each lane looks for due
	// deliveries.
	pace = time.Second
	// orphanPace is the interval at which deliveries to deleted or disabled webhooks are
	// dropped.
	orphanPace = 30 * time.Second
	// orphanLooks is how often, at the interval pace, deliveries to a webhook are dropped
	// after its lane has ended. Until every replica knows, decisions still create some.
	orphanLooks = 5
	// noticeGrace is how long a message to a person may be due at a replica that does not have its
	// channel. A replica that has it sends the message earlier.
	noticeGrace = 10 * time.Minute
	// orphanBatch is the number of deliveries dropped per statement.
	orphanBatch = 100
)

// Store is the part of a store that a [Deliverer] uses.
type Store interface {
	runs.Door
	DueDeliveries(ctx context.Context, webhookID string, limit int) ([]reads.DueEffect, error)
	DueCallbacks(ctx context.Context, except []string, limit int) ([]reads.DueEffect, error)
	DueNotices(ctx context.Context, channel string, limit int) ([]reads.DueEffect, error)
	OrphanNotices(ctx context.Context, channels []string, graceMs int64, limit int) ([]reads.DueEffect, error)
	DecisionByHandle(ctx context.Context, handle string) (*model.DecidedRequest, error)
	Run(ctx context.Context, runID string) (*model.RunRecord, error)
	EventsWithin(ctx context.Context, q reads.EventQuery) (events []model.Event, more bool, err error)
	Subscribe(notify func(reads.Notice)) (unsubscribe func())
}

// Options configure a [Deliverer]. Manager and Client must be set.
type Options struct {
	Manager *webhooks.Manager
	Client  *egress.Client
	// CallbackClient posts to callbacks, which agents name; Client if nil.
	CallbackClient *egress.Client
	// ExternalURL is the public URL of the service, without a slash at the end. If it is
	// empty, links have only a path.
	ExternalURL string
	Callbacks   Callbacks
	// Notices sends messages to people; nil for none.
	Notices Notices
	// Observe is called after each attempt, unless it is nil. channel is empty for webhooks.
	Observe func(channel string, outcome Outcome, took time.Duration)
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

// Deliverer delivers to webhooks. Several replicas may run one at the same time.
type Deliverer struct {
	store   Store
	options Options

	mu    sync.Mutex
	lanes map[string]*lane
	woken chan struct{}
	// callbacks is the lane of the callbacks of requests.
	callbacks *callbackLane
	// notices are the lanes of channels, by name. They do not change.
	notices map[string]*noticeLane
}

// New returns a deliverer that has not started.
func New(store Store, options Options) *Deliverer {
	options.Logger = cmp.Or(options.Logger, slog.Default())
	options.CallbackClient = cmp.Or(options.CallbackClient, options.Client)
	if options.Observe == nil {
		options.Observe = func(string, Outcome, time.Duration) {}
	}
	d := &Deliverer{store: store, options: options, lanes: map[string]*lane{}, woken: make(chan struct{}, 1)}
	d.callbacks, d.notices = newCallbackLane(d), noticeLanes(d)
	return d
}

// CallbackUse returns how much of its share of the callbacks in flight the busiest principal uses: 1 if its next callback has
// to wait.
func (d *Deliverer) CallbackUse() float64 { return d.callbacks.use() }

// Run delivers until ctx ends, and returns nil once no delivery is in flight.
func (d *Deliverer) Run(ctx context.Context) error {
	defer d.store.Subscribe(d.heard)()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { d.callbacks.run(ctx) })
	for _, lane := range d.notices {
		running.Go(func() { lane.run(ctx) })
	}
	ended := make(chan struct{}, 1)
	running.Go(func() { d.dropOrphans(ctx, ended) })
	tick := time.NewTicker(pace)
	defer tick.Stop()
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
			wake(ended)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-d.woken:
		}
	}
}

// heard wakes the lanes of webhooks with new deliveries from a commit of this process.
func (d *Deliverer) heard(notice reads.Notice) {
	for _, owed := range notice.Owed {
		if channel, is := model.NoticeChannel(owed.EffectID); is {
			if lane := d.notices[channel]; lane != nil {
				lane.wake()
			}
			continue
		}
		rest, found := strings.CutPrefix(owed.EffectID, string(api.EffectDeliverWebhook)+":")
		if !found {
			continue
		}
		webhookID, _, _ := strings.Cut(rest, ":")
		if webhookID == api.CallbackWebhookID {
			d.callbacks.wake()
			continue
		}
		d.mu.Lock()
		l := d.lanes[webhookID]
		d.mu.Unlock()
		if l == nil {
			d.Wake()
			continue
		}
		l.wake()
	}
}

// Wake reads the webhooks at once, because one of them has changed.
func (d *Deliverer) Wake() { wake(d.woken) }

// assign starts a lane for each enabled webhook, and ends the lanes of the others. It
// returns whether it ended one.
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

// dropOrphans drops orphans until ctx ends, more often after a lane has ended. A long backlog of a deleted webhook
// takes minutes, in which new webhooks get their lanes.
func (d *Deliverer) dropOrphans(ctx context.Context, ended <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for looks := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			looks = orphanLooks
		case <-timer.C:
		}
		d.giveUpOrphans(ctx)
		next := orphanPace
		if looks > 0 {
			looks--
			next = pace
		}
		timer.Reset(next)
	}
}

// giveUpOrphans drops deliveries to deleted or disabled webhooks, and messages of channels that no
// replica has.
func (d *Deliverer) giveUpOrphans(ctx context.Context) {
	d.giveUp(ctx, func() ([]reads.DueEffect, error) { return d.store.DueDeliveries(ctx, "", orphanBatch) })
	channels := slices.Collect(maps.Keys(d.notices))
	d.giveUp(ctx, func() ([]reads.DueEffect, error) {
		return d.store.OrphanNotices(ctx, channels, noticeGrace.Milliseconds(), orphanBatch)
	})
}

// giveUp ends the effects that a read returns as failed, until it returns none. A session whose effect cannot be claimed, because
// it is locked or failing, is left for the next time: each claim would wait for it.
func (d *Deliverer) giveUp(ctx context.Context, read func() ([]reads.DueEffect, error)) {
	left := map[string]bool{}
	for {
		due, err := read()
		if err != nil || len(due) == 0 {
			return
		}
		progress := false
		for _, one := range due {
			if left[one.SessionID] {
				continue
			}
			claimed, err := d.store.Do(ctx, &runs.ClaimEffect{SessionID: one.SessionID, EffectID: one.EffectID})
			if err != nil || claimed.Effect == nil {
				left[one.SessionID] = err != nil
				continue
			}
			progress = true
			reason := errors.New("the webhook is deleted or disabled")
			if channel, is := model.NoticeChannel(one.EffectID); is {
				reason = fmt.Errorf("the channel %q was removed from the file of --channels", channel)
				d.options.Observe(channel, GivenUp, 0)
			}
			d.finish(ctx, claimed.Effect, attempt{permanent: true, failure: reason})
		}
		if !progress {
			return
		}
	}
}
