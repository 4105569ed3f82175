package auth

import (
	"context"
	"log/slog"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

const (
	// TicketLifetimeMs is how long a ticket is valid.
	TicketLifetimeMs = minuteMs
	// MaxTickets is the maximum number of unused tickets of one token. A new one replaces the
	// oldest.
	MaxTickets = 1_000
)

// Ticket opens one stream once, for a page that cannot send a header. Its secret cannot be derived
// from it.
type Ticket struct {
	// TicketHash is the hash of the secret.
	TicketHash string
	TokenID    string
	// Credential is the [Keyring] cache key of the credential that created the ticket. The stream
	// ends with that credential.
	Credential string
	// Path is the stream's path with the query members that identify a resource.
	Path        string
	CreatedAtMs int64
	ExpiresAtMs int64
}

// Tickets stores unused tickets. Every engine implements it, with the errors of [Tokens].
type Tickets interface {
	// AddTicket inserts a ticket. It deletes those that expired before its creation, and the oldest
	// beyond [MaxTickets] of its token.
	AddTicket(ctx context.Context, ticket *Ticket) error
	// TicketByHash returns a ticket, or nil.
	TicketByHash(ctx context.Context, ticketHash string) (*Ticket, error)
	// SpendTicket deletes a ticket and reports whether it existed. Of several concurrent calls,
	// exactly one gets true.
	SpendTicket(ctx context.Context, ticketHash string) (bool, error)
}

// Ticket creates a ticket for a stream and the caller. While the service requires no credential the
// ticket is not stored, because it is never checked. Errors: errors of [Tokens].
func (k *Keyring) Ticket(ctx context.Context, identity *Identity, path string) (api.StreamTicket, error) {
	secret, nowMs := NewSecret(), k.nowMs()
	made := api.StreamTicket{Ticket: secret, ExpiresAtMs: nowMs + TicketLifetimeMs}
	if identity.Via == ViaOpen {
		return made, nil
	}
	return made, k.tokens.AddTicket(ctx, &Ticket{
		TicketHash: HashOf(secret), TokenID: identity.TokenID, Credential: identity.cacheKey, Path: path,
		CreatedAtMs: nowMs, ExpiresAtMs: made.ExpiresAtMs,
	})
}

// EnterTicket is Enter for a stream's ticket, which it spends. A ticket for another path is refused
// and not spent.
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

// findCredential finds a credential by its cache key, in the cache or in the database.
func (k *Keyring) findCredential(ctx context.Context, key, tokenID string) (*remembered, *Token, error) {
	if hash, signedIn := strings.CutPrefix(key, signInKey); signedIn {
		return k.findCookie(ctx, hash)
	}
	if strings.HasPrefix(key, assertedKey) {
		return k.findAsserted(ctx, key, tokenID)
	}
	return k.findHash(ctx, key, "")
}

// refuseTicket logs the reason, without any part of the ticket.
func (k *Keyring) refuseTicket(ctx context.Context, reason string) error {
	k.logger.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "ticket refused", slog.String("reason", reason))
	return Invalid()
}
