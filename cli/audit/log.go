package audit

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

type log struct {
	console.Reporting
	Limit int `default:"1000" placeholder:"N" help:"Show the newest N entries (default ${default})."`
}

// logPage is the size of a page.
const logPage = 100

// Run prints the newest entries, oldest first.
func (c *log) Run(ctx context.Context, terminal *console.Console) error {
	if c.Limit < 1 {
		return console.Usage("--limit must be positive")
	}
	return c.Call(func(service *client.Client) error {
		entries := []api.AuditEntry{}
		params := client.AuditListParams{Limit: logPage}
		for {
			page, err := service.ListAudit(ctx, params)
			if err != nil {
				return err
			}
			entries = append(entries, page.Data...)
			if more := len(entries) - c.Limit; more > 0 {
				entries = append(entries[:0:0], entries[more:]...)
			}
			if page.NextCursor == nil {
				break
			}
			params.Cursor = *page.NextCursor
		}
		if c.JSON {
			return console.PrintJSON(terminal.Stdout, entries)
		}
		rows := make([][]string, len(entries))
		for i := range entries {
			e := &entries[i]
			var event api.AuditEvent
			if err := json.Unmarshal(e.Event, &event); err != nil {
				return err
			}
			rows[i] = []string{
				e.ID, time.UnixMilli(e.TimestampMs).UTC().Format(time.RFC3339), string(event.Type),
				console.Cut(e.Actor, 40), event.Via, console.Cut(aboutEntry(&event), 80),
			}
		}
		return terminal.Table([]string{"LINE", "WHEN", "WHAT", "WHO", "VIA", "ABOUT"}, rows)
	})
}

// aboutEntry returns the subject of an entry.
func aboutEntry(event *api.AuditEvent) string {
	var parts []string
	for _, part := range []string{
		event.TokenID, event.Name, string(event.Role), event.Principal, event.OnBehalfOf, event.AddressID, event.Channel, event.RuleID, event.SessionID, string(event.Effect), event.Text,
		event.WebhookID, event.Host, event.KeyID, event.Reason,
	} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if event.MayActFor {
		parts = append(parts, "(may act for others)")
	}
	if event.MayAlways {
		parts = append(parts, "(may write rules of all sessions)")
	}
	return strings.Join(parts, " ")
}
