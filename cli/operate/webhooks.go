package operate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// Webhooks is the command holdpoint webhooks.
type Webhooks struct {
	Create     webhooksCreate                         `cmd:"" help:"Create a webhook, and print its signing secret once."`
	List       list[api.Webhook, webhookFilter]       `cmd:"" help:"List webhooks."`
	Show       show[api.Webhook, webhookRef]          `cmd:"" help:"Show a webhook."`
	Change     show[api.Webhook, webhookChange]       `cmd:"" help:"Change the given settings of a webhook."`
	Rotate     webhooksRotate                         `cmd:"" help:"Replace the signing secret of a webhook, and print the new one once."`
	Delete     webhooksDelete                         `cmd:"" help:"Permanently delete a webhook. Pending deliveries are dropped."`
	Test       webhooksTest                           `cmd:"" help:"Send a test event once, and print the result."`
	Deliveries list[api.EffectView, deliveriesFilter] `cmd:"" help:"List the deliveries of a webhook."`
	Replay     webhooksReplay                         `cmd:"" help:"Retry failed deliveries."`
}

// webhookSettings are the flags of a webhook's settings.
type webhookSettings struct {
	Description     *string   `placeholder:"TEXT" help:"What the webhook is for."`
	Events          *[]string `sep:"," placeholder:"TYPE" help:"Only events of these types, such as approval_resolved."`
	Kinds           *[]string `sep:"," placeholder:"KIND" help:"Only events of these kinds: approval, question, clarification, run, worker."`
	AgentIDs        *[]string `name:"agent-ids" sep:"," placeholder:"ID" help:"Only events of these agents."`
	SessionPrefixes *[]string `sep:"," placeholder:"PREFIX" help:"Only events of sessions whose id starts with one of these prefixes."`
	EventFormat     *string   `name:"event-format" placeholder:"FORMAT" help:"Message format: standard (Standard Webhooks, the default) or cloudevents."`
	MaxConcurrency  *int64    `placeholder:"N" help:"Concurrent deliveries per replica (default 4)."`
}

func (s *webhookSettings) body() api.WebhookBody {
	body := api.WebhookBody{Description: s.Description, AgentIDs: s.AgentIDs, SessionPrefixes: s.SessionPrefixes, MaxConcurrency: s.MaxConcurrency}
	if s.Events != nil {
		body.Events = new(converted[api.EventType](*s.Events))
	}
	if s.Kinds != nil {
		body.Kinds = new(converted[api.WebhookKind](*s.Kinds))
	}
	if s.EventFormat != nil {
		body.Format = new(api.WebhookFormat(*s.EventFormat))
	}
	return body
}

func converted[To, From ~string](texts []From) []To {
	list := make([]To, len(texts))
	for i, text := range texts {
		list[i] = To(text)
	}
	return list
}

type webhooksCreate struct {
	console.Reporting
	webhookSettings
	URL string `arg:"" name:"url" help:"URL to send events to."`
}

// Run prints only the secret on stdout, so that a script can store it.
func (c *webhooksCreate) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		body := c.body()
		body.URL = &c.URL
		made, err := opened.CreateWebhook(ctx, body)
		if err != nil {
			return err
		}
		return printWebhookSecret(terminal, c.JSON, made)
	})
}

func printWebhookSecret(terminal *console.Console, asJSON bool, made *api.WebhookSecret) error {
	return terminal.PrintSecret(asJSON, made, webhookFields(&made.Webhook, terminal.Now()), made.Secret, "The endpoint verifies signatures with it")
}

func webhookFields(w *api.Webhook, now time.Time) []console.Field {
	state := "enabled"
	if !w.Enabled {
		state = w.DisabledReason + " " + console.Ago(w.DisabledAtMs, now)
	}
	all := func(list []string) string {
		if len(list) == 0 {
			return "all"
		}
		return strings.Join(list, ", ")
	}
	kinds := all(converted[string](w.Kinds))
	if len(w.Kinds) == 0 && len(w.Events) == 0 {
		kinds = "all except worker"
	}
	return []console.Field{
		{"webhook", w.WebhookID},
		{"url", w.URL},
		{"description", w.Description},
		{"state", state},
		{"events", all(converted[string](w.Events))},
		{"kinds", kinds},
		{"agents", all(w.AgentIDs)},
		{"sessions", all(w.SessionPrefixes)},
		{"format", string(w.Format)},
		{"at once", strconv.FormatInt(w.MaxConcurrency, 10)},
		{"created", console.Ago(w.CreatedAtMs, now) + " by " + w.CreatedBy},
	}
}

var webhookTable = table[api.Webhook]{
	header: []string{"WEBHOOK", "URL", "STATE", "FORMAT", "CREATED", "DESCRIPTION"},
	row: func(w *api.Webhook, now time.Time) []string {
		state := "enabled"
		if !w.Enabled {
			state = w.DisabledReason
		}
		return []string{w.WebhookID, console.Cut(w.URL, 60), state, string(w.Format), console.Ago(w.CreatedAtMs, now), console.Cut(w.Description, 40)}
	},
}

// webhookFilter lists every webhook.
type webhookFilter struct{}

func (webhookFilter) read(ctx context.Context, c *client.Client) ([]api.Webhook, error) {
	all, err := c.ListWebhooks(ctx)
	if err != nil {
		return nil, err
	}
	return all.Data, nil
}

func (webhookFilter) table() table[api.Webhook] { return webhookTable }

type webhookRef struct {
	WebhookID string `arg:"" name:"webhook-id" help:"Webhook id."`
}

func (r webhookRef) find(ctx context.Context, c *client.Client) (*api.Webhook, error) {
	return c.GetWebhook(ctx, r.WebhookID)
}

func (webhookRef) fields(w *api.Webhook, now time.Time) []console.Field { return webhookFields(w, now) }

type webhookChange struct {
	webhookSettings
	URL     *string `name:"endpoint" placeholder:"URL" help:"URL to send events to."`
	Enable  bool    `xor:"state" help:"Resume deliveries."`
	Disable bool    `xor:"state" help:"Stop deliveries and drop the pending ones."`
	webhookRef
}

func (w webhookChange) find(ctx context.Context, c *client.Client) (*api.Webhook, error) {
	body := w.body()
	body.URL = w.URL
	if w.Enable || w.Disable {
		body.Enabled = &w.Enable
	}
	return c.ChangeWebhook(ctx, w.WebhookID, body)
}

type webhooksRotate struct {
	console.Reporting
	Grace time.Duration `default:"24h" placeholder:"DURATION" help:"How long deliveries are also signed with the current secret (default ${default})."`
	webhookRef
}

// Run prints only the new secret on stdout.
func (c *webhooksRotate) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		rotated, err := opened.RotateWebhook(ctx, c.WebhookID, api.RotateWebhookBody{GraceMs: new(c.Grace.Milliseconds())})
		if err != nil {
			return err
		}
		return printWebhookSecret(terminal, c.JSON, rotated)
	})
}

type webhooksDelete struct {
	console.Reporting
	webhookRef
}

// Run deletes a webhook.
func (c *webhooksDelete) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		if err := opened.RemoveWebhook(ctx, c.WebhookID); err != nil {
			return err
		}
		return printDeleted(terminal, c.JSON, "webhook", c.WebhookID)
	})
}

type webhooksTest struct {
	console.Reporting
	webhookRef
}

// Run posts a test event. It fails if the endpoint did not accept it.
func (c *webhooksTest) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		result, err := opened.TestWebhook(ctx, c.WebhookID)
		if err != nil {
			return err
		}
		return printDelivered(terminal, c.JSON, result, result.Delivered, fmt.Errorf("the test was not delivered: %s", result.Error),
			fmt.Sprintf("delivered: status %d in %d ms", result.Status, result.DurationMs))
	})
}

// deliveriesFilter lists the deliveries of a webhook.
type deliveriesFilter struct {
	webhookRef
	State string `placeholder:"STATE" help:"Only deliveries with this status: pending, done or failed."`
	limited
}

func (f deliveriesFilter) read(ctx context.Context, c *client.Client) ([]api.EffectView, error) {
	return readEffects(ctx, c, client.EffectListParams{State: api.EffectState(f.State), WebhookID: f.WebhookID}, f.Limit)
}

func (deliveriesFilter) table() table[api.EffectView] { return effectTable }

type webhooksReplay struct {
	console.Reporting
	webhookRef
}

// Run makes all dropped deliveries due again.
func (c *webhooksReplay) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		var all api.WebhookReplay
		for {
			part, err := opened.ReplayWebhook(ctx, c.WebhookID)
			if err != nil {
				return err
			}
			all.Replayed += part.Replayed
			if !part.More {
				break
			}
		}
		if c.JSON {
			return console.PrintJSON(terminal.Stdout, all)
		}
		fmt.Fprintf(terminal.Stdout, "%d deliveries will be retried\n", all.Replayed)
		return nil
	})
}
