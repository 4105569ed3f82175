// Package tokens serves credentials: tokens, sign-ins and stream tickets, and who the caller is. It must not know a
// session, a run or a request.
package tokens

import (
	"context"
	"net/http"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

var tokenList = paging.List{Cursor: "t", Keys: 2, Filters: "state"}

// identities has the handlers.
type identities struct {
	access     *wire.Access
	bodies     *wire.Bodies
	oidc       *oidc.Provider // nil for none
	streamPath func(path string) string
}

// Routes returns the routes. provider is nil without an issuer. streamPath returns the path of the stream that a path
// opens, without the prefix of a face, and "" if it opens none.
func Routes(access *wire.Access, bodies *wire.Bodies, provider *oidc.Provider, streamPath func(path string) string) []wire.Route {
	i := &identities{access, bodies, provider, streamPath}
	return []wire.Route{
		wire.Post("/v1/tokens", auth.Administer, i.withKeyring(i.createToken)),
		wire.Get("/v1/tokens", auth.Administer, i.withKeyring(i.listTokens)),
		wire.Get("/v1/tokens/{token_id}", auth.Administer, i.withKeyring(wire.Reply(http.StatusOK, i.getToken))),
		wire.Post("/v1/tokens/{token_id}/rotate", auth.Administer, i.withKeyring(i.rotateToken)),
		wire.Delete("/v1/tokens/{token_id}", auth.Administer, i.withKeyring(wire.NoContent(i.revokeToken))),
		wire.Get("/v1/me", auth.Known, wire.Reply(http.StatusOK, i.showMe)),
		// The token is in the body, or there is nothing to sign in to.
		wire.Post("/v1/login", auth.Public, i.signIn),
		wire.Post("/v1/logout", auth.Known, i.signOut),
		wire.Post("/v1/stream-tickets", auth.Known, i.withKeyring(i.createStreamTicket)),
		wire.Get("/v1/oidc", auth.Public, i.showIssuer),
		wire.GetOnly(oidc.StartPath, auth.Public, i.startSignIn),
		wire.GetOnly(oidc.CallbackPath, auth.Public, i.endSignIn),
	}
}

// errNoKeyring is the refusal of an embedded service without tokens.
var errNoKeyring = refusal.New(wire.CodeServiceUnavailable, "this service keeps no tokens")

// withKeyring returns the handler of a route that needs the manager of tokens.
func (i *identities) withKeyring(handle wire.HandlerFunc) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if i.access.Keyring == nil {
			return errNoKeyring
		}
		return handle(w, r)
	}
}

// outliving returns the context of a call without its end, or the error of one that has ended. The first token ends the
// calls without one, and a rotation those of the old secret, so both may end the call that makes them before the database
// has answered it. Only its reply has the secret.
func outliving(ctx context.Context) (context.Context, error) {
	return context.WithoutCancel(ctx), ctx.Err()
}

// createToken creates a token. Only this reply contains its secret.
func (i *identities) createToken(w http.ResponseWriter, r *http.Request) error {
	var body api.CreateTokenBody
	if err := i.bodies.Decode(w, r, &body, nil); err != nil {
		return err
	}
	key, err := wire.IdempotencyKey(r.Header, nil)
	if err != nil {
		return err
	}
	ctx, err := outliving(r.Context())
	if err != nil {
		return err
	}
	reply, replayed, err := i.access.Keyring.Create(ctx, &body, auth.From(ctx).Principal, key)
	if err != nil {
		return err
	}
	wire.MarkReplayed(w, replayed)
	wire.Locate(w, "/v1/tokens/", reply.Token.TokenID)
	return wire.Respond(w, r, http.StatusCreated, reply)
}

// listTokens answers with a page of tokens, oldest first.
func (i *identities) listTokens(w http.ResponseWriter, r *http.Request) error {
	query := wire.Query(r)
	if err := tokenList.CheckFilters(query, ""); err != nil {
		return err
	}
	q := auth.TokenQuery{State: api.TokenState(query.Get("state"))}
	switch q.State {
	case "", api.TokenActive, api.TokenExpired, api.TokenRevoked:
	default:
		return wire.BadQuery("state", "active, expired or revoked")
	}
	limit, err := wire.QueryLimit(query, api.DefaultTokenPage, api.MaxPageLimit)
	if err != nil {
		return err
	}
	q.Limit = limit + 1
	after, err := tokenList.After(query)
	if err != nil {
		return err
	}
	if after != nil {
		if q.AfterMs, err = strconv.ParseInt(after[0], 10, 64); err != nil {
			return paging.ErrInvalidCursor
		}
		q.AfterID = after[1]
	}
	tokens, err := i.access.Keyring.List(r.Context(), q)
	if err != nil {
		return err
	}
	page := api.TokenList{Data: []api.TokenView{}}
	if len(tokens) > limit {
		tokens = tokens[:limit]
		last := &tokens[limit-1]
		page.NextCursor = new(tokenList.CursorOf(strconv.FormatInt(last.CreatedAtMs, 10), last.TokenID))
	}
	for i := range tokens {
		page.Data = append(page.Data, tokens[i].View())
	}
	return wire.Respond(w, r, http.StatusOK, page)
}

func (i *identities) getToken(r *http.Request) (api.TokenView, error) {
	token, err := i.access.Keyring.Token(r.Context(), wire.PathID(r, "token_id"))
	if err != nil {
		return api.TokenView{}, err
	}
	return token.View(), nil
}

// rotateToken gives a token a new secret, which only this reply contains.
func (i *identities) rotateToken(w http.ResponseWriter, r *http.Request) error {
	var body api.RotateTokenBody
	if err := i.bodies.DecodeOptional(w, r, &body, nil); err != nil {
		return err
	}
	ctx, err := outliving(r.Context())
	if err != nil {
		return err
	}
	reply, err := i.access.Keyring.Rotate(ctx, wire.PathID(r, "token_id"), body.GraceMs)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, reply)
}

func (i *identities) revokeToken(r *http.Request) error {
	return i.access.Keyring.Revoke(r.Context(), wire.PathID(r, "token_id"), true)
}

// showMe returns the caller's identity. When no credential is required, that is the name in
// X-Actor.
func (i *identities) showMe(r *http.Request) (api.Me, error) {
	identity := auth.From(r.Context())
	me := identity.Me()
	if identity.Via == auth.ViaOpen {
		actor, err := wire.Actor(r)
		if err != nil {
			return api.Me{}, err
		}
		me.Principal = actor.Name
	}
	return me, nil
}
