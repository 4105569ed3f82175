package deliver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/webhooks"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// TypeSettled is the type of messages to callbacks.
const TypeSettled = "request_settled"

// Callbacks configure posting to the callbacks of requests.
type Callbacks struct {
	// Sealer decrypts stored callbacks.
	Sealer runs.Sealer
	// Sign returns a compact JWS; without it no grants are posted. Issuer is their "iss".
	Sign   func(purpose string, payload []byte) (string, error)
	Issuer string
}

// callBack posts the result of a request.
func (d *Deliverer) callBack(ctx context.Context, effect *model.Effect) attempt {
	handle, err := model.CallbackOf(effect)
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
	answer, err := d.postCallback(ctx, given, m)
	if err == nil && answer.Status == http.StatusGone {
		return attempt{failure: errors.New("status 410: the callback is gone"), permanent: true}
	}
	return answered(answer, err, d.options.Manager.NowMs())
}

// settledMessage returns the message about a settled request. Except for the grant it is
// the same for each attempt.
func (d *Deliverer) settledMessage(decided *model.DecidedRequest, run *model.Run) (*message, error) {
	request := &decided.Request
	view := decided.View("", nil)
	data := api.SettledRequest{
		SessionID: view.SessionID, AgentID: view.AgentID, RunID: view.RunID, RequestID: request.RequestID, Handle: request.Handle,
		Kind: view.Kind, Request: view.Request, Resolution: view.Resolution, URL: d.options.ExternalURL + "/v1/requests/" + url.PathEscape(request.Handle),
	}
	if err := d.signCallbackGrant(data.Resolution, request, run); err != nil {
		return nil, err
	}
	for {
		body, err := json.Marshal(standardBody{TypeSettled, timeText(request.SettledAtMs), data}, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("the body of a callback: %w", err)
		}
		if len(body) <= api.MaxWebhookBody {
			return &message{id: "msg_" + request.Handle, contentType: "application/json", body: body}, nil
		}
		// A decision without its edit would be a different decision.
		data.Request, data.Resolution, data.Truncated = nil, nil, true
	}
}

// signCallbackGrant adds the grant of an allowed approval to its resolution, for the
// receiver. It does not require a claim of the run, and is valid for
// api.MaxCallbackGrantMs.
func (d *Deliverer) signCallbackGrant(resolution *api.Resolution, request *model.Request, run *model.Run) error {
	if resolution == nil || resolution.Grant == nil || d.options.Callbacks.Sign == nil || request.Redeemed() != nil || model.Terminal(run.Status) {
		return nil
	}
	opened, err := runs.OpenRequests(d.options.Callbacks.Sealer, run, []model.Request{*request})
	if err != nil {
		return err
	}
	nowMs := d.options.Manager.NowMs()
	settled := opened[0].SettledApproval(nowMs + api.MaxCallbackGrantMs)
	claims, err := document.GrantClaims(&settled, settled.Resolution.Grant, run.RunID, run.AgentID, model.FenceText(run.Fence))
	if err != nil {
		return err
	}
	claims.Iss, claims.Iat, claims.Callback = d.options.Callbacks.Issuer, nowMs/1000, true
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

// postCallback sends a message with the callback's token, and signs it with that.
func (d *Deliverer) postCallback(ctx context.Context, given *api.Callback, m *message) (egress.Answer, error) {
	nowMs := d.options.Manager.NowMs()
	signature, err := webhooks.Sign(m.id, nowMs/1000, m.body, webhooks.SecretOf(given.Token))
	if err != nil {
		return egress.Answer{}, err
	}
	header := m.header(nowMs/1000, signature)
	header.Set("Authorization", "Bearer "+given.Token)
	answer, err := d.options.CallbackClient.Post(ctx, given.URL, header, m.body)
	if err == nil {
		failpoint.Hit("webhooks.called_back")
	}
	return answer, err
}
