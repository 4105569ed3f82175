package hooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/tokens"
)

const (
	addressColumns = `
SELECT a.address_id, a.principal, a.channel, a.address, a.verified_at_ms, a.code_hash, a.code_until_ms, a.code_tries, a.created_at_ms
FROM addresses AS a`

	sqlCodeCounts = `SELECT c.subject, c.since_ms, c.sent, c.last_ms, c.mark FROM code_counts AS c WHERE c.subject IN ($1, $2, $3)`

	sqlAnyAddress = `SELECT a.address_id FROM addresses AS a WHERE a.verified_at_ms > 0 LIMIT 1`

	sqlNoticeCount = `SELECT c.since_ms, c.sent, c.message_ids FROM notice_counts AS c WHERE c.principal = $1`
)

var _ notify.Store = (*Endpoints)(nil)

func addressTargets(a *notify.Address) []any {
	return []any{&a.AddressID, &a.Principal, &a.Channel, &a.Address, &a.VerifiedAtMs, &a.CodeHash, &a.CodeUntilMs, &a.CodeTries, &a.CreatedAtMs}
}

// AddAddress implements notify.Store.
func (k *Endpoints) AddAddress(ctx context.Context, a *notify.Address, most int, before, after *notify.CodeCounts, entry *journal.Entry) (bool, error) {
	// Everyone locks the rows in this order, so that two transactions never wait for each other.
	writes := []tokens.Write{{SQL: sqlLockSubject, Args: []any{notify.SubjectOfAddresses(a.Principal), after.Destination.LastMs}}}
	added := tokens.Write{SQL: sqlAddAddress, Entry: entry, Args: []any{
		a.AddressID, a.Principal, a.Channel, a.Address, a.CodeHash, a.CodeUntilMs, a.CreatedAtMs, int64(most),
	}}
	for _, count := range []*notify.CodeCount{&before.Destination, &before.Person, &before.Pair} {
		writes = append(writes, tokens.Write{SQL: sqlLockSubject, Args: []any{count.Subject, after.Destination.LastMs}})
		added.Args = append(added.Args, count.Subject, count.Mark)
	}
	writes = append(writes, added)
	for _, count := range []*notify.CodeCount{&after.Destination, &after.Person, &after.Pair} {
		writes = append(writes, tokens.Write{SQL: sqlCountCode, Args: []any{
			count.Subject, count.SinceMs, count.Sent, count.LastMs, count.Mark, a.AddressID, a.CodeHash, a.CodeUntilMs,
		}})
	}
	return k.writeAll(ctx, writes...)
}

// CodeCounts implements notify.Store.
func (k *Endpoints) CodeCounts(ctx context.Context, of *notify.CodeCounts) ([]notify.CodeCount, error) {
	targets := func(c *notify.CodeCount) []any { return []any{&c.Subject, &c.SinceMs, &c.Sent, &c.LastMs, &c.Mark} }
	return read.List(ctx, k.db, targets, sqlCodeCounts, of.Destination.Subject, of.Person.Subject, of.Pair.Subject)
}

// DropCodeCounts implements notify.Store.
func (k *Endpoints) DropCodeCounts(ctx context.Context, beforeMs int64) error {
	_, err := k.write(ctx, nil, sqlDropCodeCounts, beforeMs)
	return err
}

// Addresses implements notify.Store.
func (k *Endpoints) Addresses(ctx context.Context, principals []string) ([]notify.Address, error) {
	return read.List(ctx, k.db, addressTargets, addressColumns+k.statements.AddressesOf, k.db.List(principals))
}

// TryCode implements notify.Store.
func (k *Endpoints) TryCode(ctx context.Context, principal, addressID string, nowMs int64) (bool, error) {
	return k.write(ctx, nil, sqlTryCode, addressID, principal, nowMs, int64(api.AddressCodeTries))
}

// VerifyAddress implements notify.Store.
func (k *Endpoints) VerifyAddress(ctx context.Context, a *notify.Address, codeHash, only string, nowMs int64, entry *journal.Entry) (bool, error) {
	writes := []tokens.Write{{SQL: sqlVerifyAddress, Args: []any{a.AddressID, a.Principal, codeHash, nowMs}, Entry: entry}}
	if only != "" {
		writes[0].SQL = sqlVerifyOnlyAddress
		writes = slices.Insert(writes, 0, tokens.Write{SQL: sqlLockSubject, Args: []any{only, nowMs}})
	}
	return k.writeAll(ctx, writes...)
}

// AddSubscription implements notify.Store.
func (k *Endpoints) AddSubscription(ctx context.Context, a *notify.Address, entry *journal.Entry) (bool, error) {
	return k.writeAll(ctx,
		tokens.Write{SQL: sqlLockSubject, Args: []any{notify.SubjectOfAddresses(a.Principal), a.CreatedAtMs}},
		tokens.Write{SQL: sqlAddSubscription, Entry: entry, Args: []any{
			a.AddressID, a.Principal, a.Channel, a.Address, a.CreatedAtMs, int64(api.MaxAddresses),
		}})
}

// AnyAddress reports whether somebody has a verified address.
func (k *Endpoints) AnyAddress(ctx context.Context) (bool, error) {
	found, err := read.Find(ctx, k.db, columns.Itself[string], sqlAnyAddress)
	return found != nil, err
}

// RemoveAddress implements notify.Store.
func (k *Endpoints) RemoveAddress(ctx context.Context, principal, addressID string, entry *journal.Entry) (bool, error) {
	return k.write(ctx, entry, sqlRemoveAddress, addressID, principal)
}

// countAttempts is how often a message is counted again because another call changed the count. No more than
// api.FloodMessages+2 calls change it within api.FloodMs.
const countAttempts = 3 * (api.FloodMessages + 2)

// CountNotice implements notify.Store.
func (k *Endpoints) CountNotice(ctx context.Context, principal string, notice *notify.NoticeToCount, nowMs int64) (number, holdMs int64, err error) {
	targets := func(c *notify.NoticeCount) []any { return []any{&c.SinceMs, &c.Sent, &c.MessageIDs} }
	for range countAttempts {
		before, err := read.Find(ctx, k.db, targets, sqlNoticeCount, principal)
		if err != nil {
			return 0, 0, err
		}
		if before == nil {
			before = &notify.NoticeCount{}
		}
		after, number, holdMs := before.Count(notice, nowMs)
		if after == nil {
			return number, holdMs, nil
		}
		writes := []tokens.Write{{SQL: sqlCountNotice, Args: []any{
			principal, after.SinceMs, after.Sent, after.MessageIDs, before.SinceMs, before.Sent, before.MessageIDs,
		}}}
		if m := notice.Flood; m != nil && number > api.FloodMessages {
			writes = append(writes, dropSent(m), tokens.Write{SQL: sqlAddFlood, Args: []any{
				m.RequestHandle, m.Channel, m.Principal, m.MessageID, m.BegunAtMs, after.MessageIDs,
			}})
		}
		// If the row of a flood exists, the next turn of the loop finds the count.
		written, err := k.writeAll(ctx, writes...)
		if err != nil || written {
			return number, 0, err
		}
	}
	return 0, 0, fmt.Errorf("%w: other messages to the person are counted at the same time", runs.ErrUnavailable)
}

// DueNotices returns up to limit messages of a channel that may be sent now, longest due first.
// Messages do not wait for each other.
func (k *Endpoints) DueNotices(ctx context.Context, channel string, limit int) ([]reads.DueEffect, error) {
	return k.due(ctx, k.statements.DueNotices, model.NoticeWebhookID(channel), limit)
}

// OrphanNotices returns up to limit messages that are due for graceMs, of channels other than these.
func (k *Endpoints) OrphanNotices(ctx context.Context, channels []string, graceMs int64, limit int) ([]reads.DueEffect, error) {
	known := make([]string, 0, len(channels))
	for _, channel := range channels {
		known = append(known, model.NoticeWebhookID(channel))
	}
	return k.due(ctx, k.statements.OrphanNotices, k.db.List(known), limit, graceMs)
}
