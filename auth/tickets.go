package auth

import (
	"context"
	"log/slog"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

const (
	// TicketLifetimeMs is how long a ticket may be used.
	TicketLifetimeMs = minuteMs
	// MaxTickets bounds the tickets of one token that are not used yet. The oldest makes room.
	MaxTickets = 1_000
)

// Ticket opens one stream once, for a page that cannot send a header. Nobody can make its secret
// from it.
type Ticket struct {
	// TicketHash is that of the secret.
	TicketHash string
	TokenID    string
	// Credential is by what a [Keyring] remembers the credential that the ticket was made with; the
	// stream ends with it.
	Credential string
	// Path is that of the stream, with the members of its query that name a thing.
	Path        string
	CreatedAtMs int64
	ExpiresAtMs int64
}

// Tickets keeps tickets that are not used yet. Every engine implements it, with the errors of
// [Tokens].
type Tickets interface {
	// AddTicket writes one that is new, and deletes those that have expired by its creation and the
	// oldest beyond [MaxTickets] of its token.
	AddTicket(ctx context.Context, ticket *Ticket) error
	// TicketByHash returns the one that is there; nil when there is none.
	TicketByHash(ctx context.Context, ticketHash string) (*Ticket, error)
	// SpendTicket deletes one. It reports whether it was there: of those who spend it at the same time
	// one alone finds it.
	SpendTicket(ctx context.Context, ticketHash string) (bool, error)
}

// Ticket makes a ticket for a stream and whoever calls. Where no credential is asked for it is
// written nowhere, because nobody looks at it. Errors: those of [Tokens].
func (k *Keyring) Ticket(ctx context.Context, identity *Identity, path string) (api.StreamTicket, error) {
	secret, nowMs := NewSecret(), k.nowMs()
	made := api.StreamTicket{Ticket: secret, ExpiresAtMs: nowMs + TicketLifetimeMs}
	if identity.Via == ViaOpen {
		return made, nil
	}
	return made, k.tokens.AddTicket(ctx, &Ticket{
		TicketHash: HashOf(secret), TokenID: identity.TokenID, Credential: identity.remembered, Path: path,
		CreatedAtMs: nowMs, ExpiresAtMs: made.ExpiresAtMs,
	})
}

// EnterTicket is Enter for the ticket of a stream, which it spends. One that is shown for another
// path is refused and not spent.
func (k *Keyring) EnterTicket(ctx context.Context, secret, path string) (identity *Identity, during context.Context, leave func(), err error) {
	if !WellFormed(secret) {
		return nil, nil, nil, k.refuseTicket(ctx, "malformed")
	}
	hash := HashOf(secret)
	ticket, err := k.tokens.TicketByHash(ctx, hash)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case ticket == nil:
		return nil, nil, nil, k.refuseTicket(ctx, "unknown or used")
	case k.nowMs() >= ticket.ExpiresAtMs:
		return nil, nil, nil, k.refuseTicket(ctx, "expired")
	case path != ticket.Path:
		return nil, nil, nil, k.refuseTicket(ctx, "of another stream")
	}
	known, token, err := k.findCredential(ctx, ticket.Credential, ticket.TokenID)
	if err != nil {
		return nil, nil, nil, err
	}
	spent, err := k.tokens.SpendTicket(ctx, hash)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case !spent:
		return nil, nil, nil, k.refuseTicket(ctx, "used by another call")
	}
	during, leave = k.enter(ctx, known)
	return identityOf(known, token), during, leave, nil
}

// findCredential finds what is remembered by a key, at this replica or by reading it again.
func (k *Keyring) findCredential(ctx context.Context, key, tokenID string) (*remembered, *Token, error) {
	if hash, signedIn := strings.CutPrefix(key, signInKey); signedIn {
		return k.findCookie(ctx, hash)
	}
	if strings.HasPrefix(key, assertedKey) {
		return k.findAsserted(ctx, key, tokenID)
	}
	return k.findHash(ctx, key, "")
}

// refuseTicket logs the reason, and nothing of the ticket.
func (k *Keyring) refuseTicket(ctx context.Context, reason string) error {
	k.logger.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "ticket refused", slog.String("reason", reason))
	return Invalid()
}
