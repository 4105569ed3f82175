// Package tokens holds the commands to create, list, rotate and revoke tokens, over HTTP or
// directly in a database. The first token of a service that other machines can reach is
// created in its database. Package auth defines the rights of a token. The package must not know SQL, or what
// a role may do.
package tokens

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/cli/database"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// Tokens is the command holdpoint tokens.
type Tokens struct {
	Create create `cmd:"" help:"Create a token and print its secret once."`
	List   list   `cmd:"" help:"List all tokens, including revoked and expired ones."`
	Show   show   `cmd:"" help:"Show a token."`
	Rotate rotate `cmd:"" help:"Replace the secret of a token, and print the new one once."`
	Revoke revoke `cmd:"" help:"Revoke a token immediately, on all replicas."`
}

// place selects where tokens are managed.
type place struct {
	console.Connection
	Database string `placeholder:"URL" help:"Use this database directly instead of a service: sqlite:PATH or postgres://…"`
}

// asCommandLine records changes made without a service as made on the command line.
func asCommandLine(ctx context.Context) context.Context { return auth.With(ctx, auth.CommandLine()) }

// keeper manages tokens, in a service or a database.
type keeper interface {
	CreateToken(ctx context.Context, body api.CreateTokenBody) (*api.TokenSecret, error)
	ListTokens(ctx context.Context, params client.TokenListParams) (*api.TokenList, error)
	GetToken(ctx context.Context, tokenID string) (*api.TokenView, error)
	RotateToken(ctx context.Context, tokenID string, graceMs int64) (*api.TokenSecret, error)
	RevokeToken(ctx context.Context, tokenID string) error
}

// with calls use with a keeper. With --database it leaves the schema as it is.
func (p *place) with(ctx context.Context, terminal *console.Console, use func(keeper) error) error {
	return p.withSchema(ctx, terminal, store.Options{KeepSchema: true}, use)
}

func (p *place) withSchema(ctx context.Context, terminal *console.Console, options store.Options, use func(keeper) error) (err error) {
	if p.Database == "" {
		return p.Call(func(c *client.Client) error { return use(c) })
	}
	opened, err := database.Flag{Database: p.Database}.Open(ctx, options)
	if errors.Is(err, sqlite.ErrInUse) {
		return fmt.Errorf("%w Leave out --database and use the token of an admin (HOLDPOINT_TOKEN or --token-file PATH), or stop the service first", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	return use(direct{auth.NewKeyring(auth.Options{
		Tokens: opened, Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return terminal.Now().UnixMilli() },
	})})
}

// hasSchema reports whether a database has a schema, or could not be asked.
func hasSchema(ctx context.Context, url string) bool {
	steps, err := store.SchemaStatus(ctx, url)
	for i := range steps {
		if !steps[i].AppliedAt.IsZero() {
			return true
		}
	}
	return err != nil
}

// direct manages the tokens of a database.
type direct struct{ *auth.Keyring }

func (d direct) CreateToken(ctx context.Context, body api.CreateTokenBody) (*api.TokenSecret, error) {
	reply, _, err := d.Create(asCommandLine(ctx), &body, auth.CommandLine().Principal, "")
	return &reply, err
}

func (d direct) ListTokens(ctx context.Context, params client.TokenListParams) (*api.TokenList, error) {
	q := auth.TokenQuery{State: params.State, Limit: params.Limit}
	if params.Cursor != "" {
		moment, id, _ := strings.Cut(params.Cursor, "/")
		var err error
		if q.AfterMs, err = strconv.ParseInt(moment, 10, 64); err != nil {
			return nil, fmt.Errorf("cursor: %w", err)
		}
		q.AfterID = id
	}
	tokens, err := d.List(ctx, q)
	if err != nil {
		return nil, err
	}
	page := &api.TokenList{}
	for i := range tokens {
		page.Data = append(page.Data, tokens[i].View())
	}
	if len(tokens) == params.Limit {
		last := &tokens[len(tokens)-1]
		cursor := strconv.FormatInt(last.CreatedAtMs, 10) + "/" + last.TokenID
		page.NextCursor = &cursor
	}
	return page, nil
}

func (d direct) GetToken(ctx context.Context, tokenID string) (*api.TokenView, error) {
	token, err := d.Token(ctx, tokenID)
	if err != nil {
		return nil, err
	}
	return new(token.View()), nil
}

func (d direct) RotateToken(ctx context.Context, tokenID string, graceMs int64) (*api.TokenSecret, error) {
	reply, err := d.Rotate(asCommandLine(ctx), tokenID, graceMs)
	return &reply, err
}

// RevokeToken also revokes the last admin: anyone with the database can create another one.
func (d direct) RevokeToken(ctx context.Context, tokenID string) error {
	return d.Revoke(asCommandLine(ctx), tokenID, false)
}

type create struct {
	place
	console.Format
	Name            string         `required:"" placeholder:"NAME" help:"What the token is for."`
	Role            string         `required:"" placeholder:"ROLE" help:"Role: observer, agent, operator or admin."`
	Principal       string         `placeholder:"PRINCIPAL" help:"Principal: user:NAME, agent:NAME or service:NAME (default: agent: or user: with the token's name)."`
	OnBehalfOf      string         `placeholder:"PERSON" help:"Person whose token it is, as user:NAME. Decisions name both, and count as this person's."`
	Groups          []string       `sep:"," placeholder:"GROUP" help:"Groups of the principal."`
	SessionPrefixes []string       `sep:"," placeholder:"PREFIX" help:"Only sessions whose id starts with one of these prefixes."`
	AgentIDs        []string       `name:"agent-ids" sep:"," placeholder:"ID" help:"Only runs of these agents."`
	ExpiresAtMs     *int64         `name:"expires-at-ms" placeholder:"MS" help:"Expiry time, in milliseconds since the epoch."`
	ExpiresAfter    *time.Duration `placeholder:"DURATION" help:"Lifetime, such as 720h (default: never expires)."`
	MayActFor       bool           `help:"Let the caller act for others: record the name in X-Actor as who decided, along with the principal. For gateways."`
	MayAlways       bool           `help:"Let an operator create rules for all sessions."`
}

// Run prints only the secret on stdout, so that a script can store it.
func (c *create) Run(ctx context.Context, terminal *console.Console) error {
	body := api.CreateTokenBody{
		Name: c.Name, Role: api.Role(c.Role), Principal: c.Principal, OnBehalfOf: c.OnBehalfOf, Groups: c.Groups,
		SessionPrefixes: c.SessionPrefixes, AgentIDs: c.AgentIDs, MayActFor: c.MayActFor, MayAlways: c.MayAlways,
		ExpiresAtMs: c.ExpiresAtMs,
	}
	if c.ExpiresAfter != nil {
		body.ExpiresAfterMs = new(c.ExpiresAfter.Milliseconds())
	}
	// The first token is made before the first start. A schema that is there is not changed: on a newer one, the services of an older
	// program go on but do not start.
	options := store.Options{KeepSchema: c.Database != "" && hasSchema(ctx, c.Database)}
	return c.withSchema(ctx, terminal, options, func(k keeper) error {
		made, err := k.CreateToken(ctx, body)
		if err != nil {
			return err
		}
		return printSecret(terminal, c.JSON, made)
	})
}

func printSecret(terminal *console.Console, asJSON bool, made *api.TokenSecret) error {
	return terminal.PrintSecret(asJSON, made, fields(&made.Token, terminal.Now()), made.Secret, "Use it with "+console.TokenVariable)
}

type list struct {
	place
	console.Format
	State string `placeholder:"STATE" help:"Only active, expired or revoked tokens."`
}

// Run prints every token.
func (c *list) Run(ctx context.Context, terminal *console.Console) error {
	state := api.TokenState(c.State)
	switch state {
	case "", api.TokenActive, api.TokenExpired, api.TokenRevoked:
	default:
		return console.Usage("unknown state %q; use active, expired or revoked", c.State)
	}
	return c.with(ctx, terminal, func(k keeper) error {
		tokens := []api.TokenView{}
		params := client.TokenListParams{State: state, Limit: api.MaxPageLimit}
		for {
			page, err := k.ListTokens(ctx, params)
			if err != nil {
				return err
			}
			tokens = append(tokens, page.Data...)
			if page.NextCursor == nil {
				break
			}
			params.Cursor = *page.NextCursor
		}
		if c.JSON {
			return console.PrintJSON(terminal.Stdout, tokens)
		}
		now := terminal.Now()
		rows := make([][]string, len(tokens))
		for i := range tokens {
			t := &tokens[i]
			rows[i] = []string{
				t.TokenID, console.Cut(t.Name, 40), string(t.Role), console.Cut(t.Principal, 40), t.Hint,
				stateOf(t, now), console.Ago(t.CreatedAtMs, now), console.Ago(t.ExpiresAtMs, now), console.Ago(t.LastUsedAtMs, now),
			}
		}
		return terminal.Table([]string{"TOKEN", "NAME", "ROLE", "PRINCIPAL", "HINT", "STATE", "CREATED", "EXPIRES", "LAST USED"}, rows)
	})
}

func stateOf(t *api.TokenView, now time.Time) string {
	switch {
	case t.RevokedAtMs != 0:
		return string(api.TokenRevoked)
	case t.ExpiresAtMs != 0 && t.ExpiresAtMs <= now.UnixMilli():
		return string(api.TokenExpired)
	}
	return string(api.TokenActive)
}

func fields(t *api.TokenView, now time.Time) []console.Field {
	flag := func(set bool) string {
		if set {
			return "yes"
		}
		return ""
	}
	return []console.Field{
		{"token", t.TokenID},
		{"name", t.Name},
		{"role", string(t.Role)},
		{"principal", t.Principal},
		{"on behalf of", t.OnBehalfOf},
		{"state", stateOf(t, now)},
		{"groups", strings.Join(t.Groups, ", ")},
		{"sessions", strings.Join(t.SessionPrefixes, ", ")},
		{"agents", strings.Join(t.AgentIDs, ", ")},
		{"may act for", flag(t.MayActFor)},
		{"may always", flag(t.MayAlways)},
		{"hint", t.Hint},
		{"created", console.Moment(t.CreatedAtMs, now) + " by " + t.CreatedBy},
		{"expires", console.Moment(t.ExpiresAtMs, now)},
		{"last used", console.Moment(t.LastUsedAtMs, now)},
	}
}

type show struct {
	place
	console.Format
	TokenID string `arg:"" name:"token-id" help:"Token id."`
}

// Run prints one token.
func (c *show) Run(ctx context.Context, terminal *console.Console) error {
	return c.with(ctx, terminal, func(k keeper) error {
		token, err := k.GetToken(ctx, c.TokenID)
		if err != nil {
			return err
		}
		if c.JSON {
			return console.PrintJSON(terminal.Stdout, token)
		}
		return terminal.Describe(fields(token, terminal.Now()))
	})
}

type rotate struct {
	place
	console.Format
	Grace   time.Duration `placeholder:"DURATION" help:"How long the current secret remains valid, at most 168h (default 0)."`
	TokenID string        `arg:"" name:"token-id" help:"Token id."`
}

// Run prints only the new secret on stdout.
func (c *rotate) Run(ctx context.Context, terminal *console.Console) error {
	return c.with(ctx, terminal, func(k keeper) error {
		rotated, err := k.RotateToken(ctx, c.TokenID, c.Grace.Milliseconds())
		if err != nil {
			return err
		}
		return printSecret(terminal, c.JSON, rotated)
	})
}

type revoke struct {
	place
	console.Format
	TokenID string `arg:"" name:"token-id" help:"Token id."`
}

// Run revokes a token.
func (c *revoke) Run(ctx context.Context, terminal *console.Console) error {
	return c.with(ctx, terminal, func(k keeper) error {
		if err := k.RevokeToken(ctx, c.TokenID); err != nil {
			return err
		}
		if c.JSON {
			return console.PrintJSON(terminal.Stdout, map[string][]string{"revoked": {c.TokenID}})
		}
		terminal.Say("token %s is revoked", c.TokenID)
		return nil
	})
}
