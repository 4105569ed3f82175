//go:build unix && agents

package sdk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// arguments of a step that makes a call by its name.
type arguments []json.RawMessage

func (a arguments) text(i int) (text string) {
	return argument[string](a, i)
}

// argument returns an argument; the zero value if the step lacks it, which the service refuses.
func argument[T any](a arguments, i int) (value T) {
	if i < len(a) {
		_ = json.Unmarshal(a[i], &value) // what is unreadable is refused as well
	}
	return value
}

// plainCalls make calls that map to one operation each, by their names in sdk/calls.toml.
var plainCalls = map[string]func(ctx context.Context, c *client.Client, a arguments) (any, error){
	"explain_run": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.ExplainRun(ctx, a.text(0))
	},
	"explain_request": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.ExplainRequest(ctx, a.text(0))
	},
	"acknowledge_request": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.AcknowledgeRequest(ctx, a.text(0), api.AcknowledgementBody{State: argument[api.AcknowledgementState](a, 1)})
	},
	"set_quiet_hours": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.SetQuietHours(ctx, argument[api.QuietHours](a, 0))
	},
	"get_quiet_hours": func(ctx context.Context, c *client.Client, _ arguments) (any, error) { return c.GetQuietHours(ctx) },
	"clear_quiet_hours": func(ctx context.Context, c *client.Client, _ arguments) (any, error) {
		return nil, c.ClearQuietHours(ctx)
	},
	"list_addresses": func(ctx context.Context, c *client.Client, _ arguments) (any, error) { return c.ListAddresses(ctx) },
	"add_address": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.AddAddress(ctx, api.AddressBody{Channel: a.text(0), Address: a.text(1)})
	},
	"verify_address": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.VerifyAddress(ctx, a.text(0), a.text(1))
	},
	"remove_address": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return nil, c.RemoveAddress(ctx, a.text(0))
	},
	"get_push": func(ctx context.Context, c *client.Client, _ arguments) (any, error) { return c.GetPush(ctx) },
	"subscribe_push": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.SubscribePush(ctx, argument[api.PushBody](a, 0))
	},
	"list_channels": func(ctx context.Context, c *client.Client, _ arguments) (any, error) { return c.ListChannels(ctx) },
	"test_channel": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.TestChannel(ctx, a.text(0), a.text(1))
	},
	"list_audit": func(ctx context.Context, c *client.Client, _ arguments) (any, error) {
		return c.ListAudit(ctx, client.AuditListParams{})
	},
	"redact": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.Redact(ctx, a.text(0), api.RedactBody{Reason: a.text(1)})
	},
	"create_webhook": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.CreateWebhook(ctx, argument[api.WebhookBody](a, 0))
	},
	"list_webhooks": func(ctx context.Context, c *client.Client, _ arguments) (any, error) { return c.ListWebhooks(ctx) },
	"get_webhook": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.GetWebhook(ctx, a.text(0))
	},
	"change_webhook": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.ChangeWebhook(ctx, a.text(0), argument[api.WebhookBody](a, 1))
	},
	"rotate_webhook": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.RotateWebhook(ctx, a.text(0), api.RotateWebhookBody{})
	},
	"test_webhook": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.TestWebhook(ctx, a.text(0))
	},
	"replay_webhook": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return c.ReplayWebhook(ctx, a.text(0))
	},
	"remove_webhook": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return nil, c.RemoveWebhook(ctx, a.text(0))
	},
}

// plainCall makes a call by its name.
func plainCall(ctx context.Context, c *client.Client, name string, a arguments) outcome {
	call, known := plainCalls[name]
	if !known {
		return outcome{Failed: fmt.Sprintf("no such call: %s", name)}
	}
	return of(call(ctx, c, a))
}
