package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/webhooks"
)

// TypeSettled is the type of what is posted to a callback.
const TypeSettled = "request_settled"

const (
	// callbacksAtOnce bounds the calls to callbacks, and callbacksOfOrigin those to one host: one that
	// hangs keeps no other waiting.
	callbacksAtOnce   = 16
	callbacksOfOrigin = 4
	// callbacksSeen is how many of those that are due are looked at, for hosts that have room.
	callbacksSeen = 500
)

// Callbacks is what a [Deliverer] needs besides to post to the callbacks of requests.
type Callbacks struct {
	// Sealer opens what is kept of a callback.
	Sealer runs.Sealer
	// Sign makes a compact JWS; no grants are posted when nil. Issuer is their "iss".
	Sign   func(purpose string, payload []byte) (string, error)
	Issuer string
}

// callbackLane posts what became of requests to their callbacks. They wait for nothing but for their
// turn at their host.
type callbackLane struct {
	deliverer *Deliverer
	woken     chan struct{}
	done      chan result
	underWay  map[runs.DueEffect]bool
	origins   map[string]*origin
}

// origin is a host that callbacks go to.
type origin struct {
	underWay, failures int
	resumeAt           time.Time
}

func newCallbackLane(d *Deliverer) *callbackLane {
	return &callbackLane{
		deliverer: d, woken: make(chan struct{}, 1), done: make(chan result),
		underWay: map[runs.DueEffect]bool{}, origins: map[string]*origin{},
	}
}

// run delivers until ctx ends and nothing is under way.
func (l *callbackLane) run(ctx context.Context) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		l.start(ctx)
		select {
		case <-ctx.Done():
			for len(l.underWay) > 0 {
				delete(l.underWay, (<-l.done).due)
			}
			return
		case r := <-l.done:
			l.ended(r)
		case <-l.woken:
		case <-tick.C:
		}
	}
}

// start begins as many deliveries as there is room for.
func (l *callbackLane) start(ctx context.Context) {
	if len(l.underWay) >= callbacksAtOnce {
		return
	}
	due, err := l.deliverer.store.DueDeliveries(ctx, api.CallbackWebhookID, callbacksSeen)
	if err != nil {
		if ctx.Err() == nil {
			l.deliverer.options.Logger.WarnContext(ctx, "what callbacks are owed cannot be read", slog.Any("error", err))
		}
		return
	}
	for _, one := range due {
		if len(l.underWay) >= callbacksAtOnce {
			return
		}
		host := l.originOf(one)
		if l.underWay[one] || !host.hasRoom() {
			continue
		}
		host.underWay++
		l.underWay[one] = true
		go func() {
			l.done <- l.deliverer.attemptDelivery(ctx, one, func(effect *model.Effect) attempt { return l.deliverer.callBack(ctx, effect) })
		}()
	}
}

func (l *callbackLane) originOf(due runs.DueEffect) *origin {
	name, _ := model.CallbackOrigin(due.EffectID)
	host := l.origins[name]
	if host == nil {
		host = &origin{}
		l.origins[name] = host
	}
	return host
}

// hasRoom reports whether the host may be called once more: after failures in a row with one call at a
// time, and after a pause.
func (o *origin) hasRoom() bool {
	if o.failures >= failuresBeforePause {
		return o.underWay == 0 && time.Until(o.resumeAt) <= 0 //nolint:forbidigo // only says when to look again
	}
	return o.underWay < callbacksOfOrigin
}

// ended notes how an attempt ended. A host that is well is forgotten.
func (l *callbackLane) ended(r result) {
	delete(l.underWay, r.due)
	name, _ := model.CallbackOrigin(r.due.EffectID)
	host := l.origins[name]
	host.underWay--
	switch {
	case r.delivered:
		host.failures = 0
	case r.attempted:
		if host.failures++; host.failures >= failuresBeforePause {
			pause := min(pace<<min(host.failures-failuresBeforePause, 10), longestPause)
			host.resumeAt = time.Now().Add(pause) //nolint:forbidigo // only says when to look again
		}
	}
	if host.underWay == 0 && host.failures == 0 {
		delete(l.origins, name)
	}
}

// callBack posts what became of a request.
func (d *Deliverer) callBack(ctx context.Context, effect *model.Effect) attempt {
	handle, err := runs.CallbackOf(effect)
	if err != nil {
		return attempt{failure: err, permanent: true}
	}
	decided, err := d.store.DecisionByHandle(ctx, handle)
	if refusal.CodeOf(err) != "" || err == nil && (decided.Request.Open() || decided.Request.RunID != effect.RunID) {
		return attempt{failure: errors.New("the decision is no longer kept"), permanent: true}
	}
	if err != nil {
		return attempt{failure: err}
	}
	record, err := d.store.Run(ctx, effect.RunID)
	if err != nil {
		return attempt{failure: err, permanent: refusal.CodeOf(err) != ""}
	}
	if d.options.Callbacks.Sealer == nil {
		return attempt{failure: errors.New("the service has no key to read the callback with; start it with --secret-key-file")}
	}
	given, err := runs.OpenCallback(d.options.Callbacks.Sealer, &decided.Request)
	if err != nil {
		return attempt{failure: err, permanent: refusal.CodeOf(err) != ""}
	}
	m, err := d.settledMessage(decided, &record.Run)
	if err != nil {
		return attempt{failure: err}
	}
	status, retryAfterMs, err := d.postCallback(ctx, given, m)
	switch {
	case err != nil:
		return attempt{failure: err}
	case status >= 200 && status <= 299:
		return attempt{}
	case status == http.StatusGone:
		return attempt{failure: errors.New("status 410: the callback is gone"), permanent: true}
	}
	return attempt{failure: fmt.Errorf("status %d", status), retryAfterMs: retryAfterMs}
}

// settledMessage returns what is posted about a settled request. But for the grant it is the same for
// each attempt.
func (d *Deliverer) settledMessage(decided *model.DecidedRequest, run *model.Run) (*message, error) {
	request := &decided.Request
	view := decided.View(nil)
	data := api.SettledRequest{
		SessionID: view.SessionID, AgentID: view.AgentID, RunID: view.RunID, RequestID: request.RequestID, Handle: request.Handle,
		Kind: view.Kind, Request: view.Request, Resolution: view.Resolution, URL: d.options.ExternalURL + "/v1/requests/" + url.PathEscape(request.Handle),
	}
	if err := d.signCallbackGrant(data.Resolution, request, run); err != nil {
		return nil, err
	}
	at := time.UnixMilli(request.SettledAtMs).UTC().Format("2006-01-02T15:04:05.000Z")
	for {
		body, err := json.Marshal(standardBody{TypeSettled, at, data}, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("the body of a callback: %w", err)
		}
		if len(body) <= api.MaxWebhookBody {
			return &message{id: "msg_" + request.Handle, contentType: "application/json", body: body}, nil
		}
		// A decision without its edit would be another decision.
		data.Request, data.Resolution, data.Truncated = nil, nil, true
	}
}

// signCallbackGrant puts the grant of an allowed approval into its resolution, for whoever is posted it.
// Nobody needs to hold the run, and it holds for api.MaxCallbackGrantMs.
func (d *Deliverer) signCallbackGrant(resolution *api.Resolution, request *model.Request, run *model.Run) error {
	if resolution == nil || resolution.Grant == nil || d.options.Callbacks.Sign == nil || request.Redeemed() != nil || model.Terminal(run.Status) {
		return nil
	}
	opened, err := runs.OpenRequests(d.options.Callbacks.Sealer, run, []model.Request{*request})
	if err != nil {
		return err
	}
	const second = 1000
	nowMs := d.options.Manager.NowMs()
	settled := opened[0].SettledApproval(nowMs + api.MaxCallbackGrantMs)
	claims, err := runs.GrantClaims(&settled, settled.Resolution.Grant, run.RunID, run.AgentID, model.FenceText(run.Fence))
	if err != nil {
		return err
	}
	claims.Iss, claims.Iat, claims.Callback = d.options.Callbacks.Issuer, nowMs/second, true
	payload, err := json.Marshal(claims)
	if err != nil {
		return err
	}
	signed, err := d.options.Callbacks.Sign(api.GrantPurpose, payload)
	if err != nil {
		return err
	}
	resolution.Grant = &api.Grant{JWS: signed}
	return nil
}

// postCallback sends a message with the token of the callback, and signed by it.
func (d *Deliverer) postCallback(ctx context.Context, given *api.Callback, m *message) (status int, retryAfterMs int64, err error) {
	nowMs := d.options.Manager.NowMs()
	const second = 1000
	signature, err := webhooks.Sign(m.id, nowMs/second, m.body, webhooks.SecretOf(given.Token))
	if err != nil {
		return 0, 0, err
	}
	header := m.header(nowMs/second, signature)
	header.Set("Authorization", "Bearer "+given.Token)
	answer, err := d.options.Client.Post(ctx, given.URL, header, m.body)
	if err != nil {
		return 0, 0, err
	}
	failpoint.Hit("webhooks.called_back")
	return answer.Status, retryAfter(answer, d.options.Manager.NowMs()), nil
}

// header returns the headers of a signed message.
func (m *message) header(atSeconds int64, signature string) http.Header {
	header := http.Header{}
	header.Set("Content-Type", m.contentType)
	header.Set("User-Agent", "holdpoint")
	// As the specification writes them; HTTP does not care.
	header.Set("Webhook-Id", m.id)
	header.Set("Webhook-Timestamp", strconv.FormatInt(atSeconds, 10))
	header.Set("Webhook-Signature", signature)
	return header
}
