// Package hooks stores webhooks for both engines: it implements webhooks.Store, and finds each
// webhook's pending deliveries. Webhooks belong to no session, so they change in their own short
// transactions and not by commands of the door. Deliveries are effects, which the door writes.
//
// It must not know a driver, or the content of deliveries.
package hooks

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/tokens"
	"github.com/holdpoint/holdpoint/webhooks"
)

const selectAll = `
SELECT webhook_id, settings, data_key, secret, previous_secret, previous_until_ms, disabled_at_ms, disabled_reason,
	created_at_ms, created_by, updated_at_ms
FROM webhooks ORDER BY created_at_ms, webhook_id`

// Endpoints implements webhooks.Store.
type Endpoints struct {
	db         read.Database
	writer     tokens.Writer
	statements *statements
}

var _ webhooks.Store = (*Endpoints)(nil)

// New returns the webhooks of a database. Each read and write ends after [read.Timeout]. parts replaces the
// parts of statements that differ between the engines: {list}, the texts of the list $1; {now $3}, the current
// time, which is that argument if the database has no clock; and {by due} and {by webhook}, hints to an index.
func New(db read.Database, writer tokens.Writer, parts *strings.Replacer) *Endpoints {
	return &Endpoints{db: read.Bounded(db), writer: writer, statements: newStatements(parts)}
}

// row is a scanned endpoint.
type row struct {
	webhooks.Endpoint
	settings string
}

func (r *row) targets() []any {
	return []any{
		&r.WebhookID, &r.settings, &r.DataKey, &r.Secret, &r.PreviousSecret, &r.PreviousUntilMs, &r.DisabledAtMs, &r.DisabledReason,
		&r.CreatedAtMs, &r.CreatedBy, &r.UpdatedAtMs,
	}
}

// Webhooks implements webhooks.Store.
func (k *Endpoints) Webhooks(ctx context.Context) ([]webhooks.Endpoint, error) {
	var found []webhooks.Endpoint
	err := k.db.Ask(ctx, read.Query{SQL: selectAll, Read: func(rows columns.Rows) error {
		var bad error
		err := columns.Each(rows, (*row).targets, func(r *row) {
			if err := json.Unmarshal([]byte(r.settings), &r.Settings); err != nil && bad == nil {
				bad = fmt.Errorf("the settings of %s: %w", r.WebhookID, err)
			}
			found = append(found, r.Endpoint)
		})
		if err == nil {
			err = bad
		}
		return err
	}})
	return found, err
}

func (k *Endpoints) write(ctx context.Context, entry *journal.Entry, sql string, args ...any) (bool, error) {
	return k.writeAll(ctx, tokens.Write{SQL: sql, Args: args, Entry: entry})
}

// writeAll runs statements in one transaction and reports whether the last one changed a row.
func (k *Endpoints) writeAll(ctx context.Context, writes ...tokens.Write) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, read.Timeout)
	defer cancel()
	changed, err := k.writer.WriteTokens(ctx, writes...)
	return changed > 0, err
}

func settingsOf(e *webhooks.Endpoint) (string, error) {
	text, err := json.Marshal(e.Settings)
	if err != nil {
		return "", fmt.Errorf("the settings of a webhook: %w", err)
	}
	return string(text), nil
}

// AddWebhook implements webhooks.Store.
func (k *Endpoints) AddWebhook(ctx context.Context, e *webhooks.Endpoint, entry *journal.Entry) (bool, error) {
	settings, err := settingsOf(e)
	if err != nil {
		return false, err
	}
	return k.write(ctx, entry, sqlAddWebhook, e.WebhookID, settings, e.DataKey, e.Secret, e.PreviousSecret, e.PreviousUntilMs, e.DisabledAtMs, e.DisabledReason,
		e.CreatedAtMs, e.CreatedBy, e.UpdatedAtMs, api.MaxWebhooks)
}

// ChangeWebhook implements webhooks.Store.
func (k *Endpoints) ChangeWebhook(ctx context.Context, e *webhooks.Endpoint, beforeMs int64, entry *journal.Entry) (bool, error) {
	settings, err := settingsOf(e)
	if err != nil {
		return false, err
	}
	return k.write(ctx, entry, sqlChangeWebhook, e.WebhookID, settings, e.DataKey, e.Secret, e.PreviousSecret, e.PreviousUntilMs, e.DisabledAtMs, e.DisabledReason,
		e.UpdatedAtMs, beforeMs)
}

// RemoveWebhook implements webhooks.Store.
func (k *Endpoints) RemoveWebhook(ctx context.Context, webhookID string, entry *journal.Entry) (bool, error) {
	return k.write(ctx, entry, sqlRemoveWebhook, webhookID)
}

// DueDeliveries returns up to limit deliveries to a webhook that may be attempted now: the
// oldest of each session, longest due first. With an empty id it returns deliveries to deleted
// or disabled webhooks, in any order.
func (k *Endpoints) DueDeliveries(ctx context.Context, webhookID string, limit int) ([]reads.DueEffect, error) {
	sql, args := k.statements.Due, []any{webhookID, limit}
	if webhookID == "" {
		sql, args = k.statements.Orphans, []any{limit}
	}
	return k.due(ctx, sql, args...)
}

// DueCallbacks returns up to limit deliveries to callbacks that may be attempted now, longest
// due first, excluding some origins or owners (see model.CallbackOwner).
func (k *Endpoints) DueCallbacks(ctx context.Context, except []string, limit int) ([]reads.DueEffect, error) {
	return k.due(ctx, k.statements.DueCallbacks, k.db.List(except), limit)
}

func (k *Endpoints) due(ctx context.Context, sql string, args ...any) ([]reads.DueEffect, error) {
	targets := func(d *reads.DueEffect) []any { return []any{&d.SessionID, &d.EffectID} }
	return read.List(ctx, k.db, targets, sql, append(args, k.db.Now()...)...)
}
