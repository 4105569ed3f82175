package tokens

import (
	"context"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/store/read"
)

const ticketByHash = `SELECT ticket_hash, token_id, credential, path, created_at_ms, expires_at_ms FROM stream_tickets WHERE ticket_hash = $1`

// AddTicket implements auth.Tickets.
func (k *Keeper) AddTicket(ctx context.Context, t *auth.Ticket) error {
	_, err := k.write(ctx,
		Write{SQL: sqlDropExpiredTickets, Args: []any{t.CreatedAtMs}},
		Write{SQL: sqlDropOldestTickets, Args: []any{t.TokenID, auth.MaxTickets - 1}},
		Write{SQL: sqlAddTicket, Args: []any{t.TicketHash, t.TokenID, t.Credential, t.Path, t.CreatedAtMs, t.ExpiresAtMs}})
	return err
}

// TicketByHash implements auth.Tickets.
func (k *Keeper) TicketByHash(ctx context.Context, ticketHash string) (*auth.Ticket, error) {
	targets := func(t *auth.Ticket) []any {
		return []any{&t.TicketHash, &t.TokenID, &t.Credential, &t.Path, &t.CreatedAtMs, &t.ExpiresAtMs}
	}
	return read.Find(ctx, k.db, targets, ticketByHash, ticketHash)
}

// SpendTicket implements auth.Tickets.
func (k *Keeper) SpendTicket(ctx context.Context, ticketHash string) (bool, error) {
	changed, err := k.write(ctx, Write{SQL: sqlSpendTicket, Args: []any{ticketHash}})
	return changed > 0, err
}
