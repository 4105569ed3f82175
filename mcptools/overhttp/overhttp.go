// Package overhttp serves the tools of package mcptools at /mcp, by the stateless streamable HTTP
// transport of the Model Context Protocol: any replica can answer any call.
//
// A tool call becomes calls of /v1 in this process with the caller's credential, so it has exactly
// the caller's permissions. It must not know a store.
package overhttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/mcptools/tasks"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// maxCalls is the default of Options.MaxHeld.
const maxCalls = 1_000

// Options configure the route.
type Options struct {
	// Version is the version of the program.
	Version string
	// Signing signs the states that clients carry between replicas, and NowMs is the clock for
	// their expiry. Without them every call is held.
	Signing *signing.Keys
	NowMs   func() int64
	// ExternalURL is the public base URL of the service, for links to requests; empty: taken from the
	// Host header.
	ExternalURL string
	// MaxHeld is the maximum number of held calls of one process; 0 for 1,000. A caller gets as many as are free,
	// so one caller leaves half of them to the others.
	MaxHeld int
	// Extend adds tools; nil for none.
	Extend func(server *mcp.Server, waits *mcptools.Waits)
	// Streams enables event streams as responses, for added tools that send notifications while
	// they work.
	Streams bool
}

// New returns the face.
func New(options Options) kit.Mount {
	return func(services kit.Services) wire.Face {
		e := &endpoint{Options: options, services: services, slots: newSlots(cmp.Or(options.MaxHeld, maxCalls))}
		// Its tools make calls of /v1, which are checked.
		return wire.Face{Name: "mcp", Via: api.ViaAPI, Routes: []wire.Route{wire.Post("/mcp", auth.Known, e.serve)}, Use: e.slots.use}
	}
}

type endpoint struct {
	Options
	services kit.Services
	slots    *slots
}

// serve answers one message. A waiting tool ends when the caller disconnects or the service drains;
// its requests stay open.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) error {
	// The calls of the tools have the caller's header and certificate. With a cookie they would have no
	// credential, or the certificate of somebody else.
	if auth.From(r.Context()).Via == auth.ViaSession && len(r.Header["Authorization"]) == 0 {
		return refusal.New(api.CodeForbidden, "/mcp takes no cookie of a sign-in: send a token in the Authorization header")
	}
	options, err := e.optionsOf(r)
	if err != nil {
		return err
	}
	caller := callerOf(r, options.AgentID)
	if err := e.slots.take(caller); err != nil {
		return err
	}
	defer e.slots.giveBack(caller)
	if err := wire.Hold(r.Context()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(e.services.Draining, cancel)()
	passed, err := e.clientOptions(ctx, r)
	if err != nil {
		return err
	}
	through, err := client.New("http://127.0.0.1", passed...)
	if err != nil {
		return refusal.New(api.CodeBadRequest, "%s", err.Error())
	}
	options.Client = through
	server := mcptools.NewServer(options)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: !e.Streams, PropagateRequestCancellation: true,
		MaxRequestBodyBytes: -1, // exactly enforces the limit, because it may make a body larger
		// wire.Guard already checks Host and Origin of every call.
		DisableLocalhostProtection: true,
	})
	tasks.CheckName(exactly(handler, e.services.MaxBodyBytes), e.services.MaxBodyBytes).ServeHTTP(w, r.WithContext(ctx))
	return nil
}

// exactly keeps the digits of numbers in filled forms. It refuses a body with a member that is given
// twice, of which another reader on the way may take the other one. A large body is read in a slot of
// [cpulimit.Do]. The limit holds for the body that the client sent, which the texts of its forms may exceed.
func exactly(next http.Handler, maxBodyBytes int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, putBack, err := tasks.ReadAhead(r, maxBodyBytes)
		whole := err == nil && int64(len(start)) <= maxBodyBytes
		if whole {
			twice := false
			err := cpulimit.Do(r.Context(), len(start), func() error {
				if twice = mcptools.GivenTwice(start); !twice {
					start = mcptools.ExactBody(start)
				}
				return nil
			})
			if err != nil { // the caller has disconnected, or the service drains
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			if twice {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write(mcptools.RefusedTwice(nil)) // the caller may have disconnected
				return
			}
		}
		r.ContentLength = -1
		putBack(start)
		if !whole {
			r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes) // next refuses the body with 413
		}
		next.ServeHTTP(w, r)
	})
}

// clientOptions pass the caller's identity on. X-Via is ignored. Errors: of [wire.NamedActor].
func (e *endpoint) clientOptions(ctx context.Context, r *http.Request) ([]client.Option, error) {
	options := []client.Option{
		client.WithHTTPClient(&http.Client{Transport: &inProcess{
			ctx: ctx, handler: e.services.Router, authorization: r.Header["Authorization"], tls: r.TLS,
		}}),
		client.WithVia("mcp"), client.WithUserAgent("holdpoint-mcp"),
	}
	if len(r.Header[wire.ActorHeader]) > 0 && auth.From(r.Context()).MayActFor {
		actor, err := wire.NamedActor(r)
		if err != nil {
			return nil, err
		}
		options = append(options, client.WithActor(actor.Name))
	}
	return options, nil
}

// linksOf returns the addresses of requests in the inbox.
func (e *endpoint) linksOf(r *http.Request) func(handle string) string {
	base := strings.TrimSuffix(e.ExternalURL, "/")
	if base == "" {
		scheme := "http://"
		if wire.Secured(r) {
			scheme = "https://"
		}
		base = scheme + r.Host
	}
	return func(handle string) string { return base + "/?prompt=" + url.QueryEscape(handle) }
}

// audiences are the tool sets that each role may use, its default first.
var audiences = map[api.Role][]mcptools.For{
	api.RoleAgent:    {mcptools.ForAgents},
	api.RoleOperator: {mcptools.ForPeople},
	api.RoleAdmin:    {mcptools.ForAgents, mcptools.ForPeople, mcptools.ForBoth},
}

// parameters are the names in the query.
var parameters = []string{"for", "agent", "session", "escalation", "notify", "exclude_requester", "elicitation"}

// checkQuery refuses names that would be ignored, such as a misspelt exclude_requester. Errors: bad_request,
// invalid_filter.
func checkQuery(query url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case !slices.Contains(parameters, name):
			return refusal.New(api.CodeBadRequest, "the query has an unknown parameter: %s", wire.Shown(name))
		case len(query[name]) > 1 && name != "notify":
			return refusal.New(api.CodeBadRequest, "the query has %s more than once", name)
		case slices.Contains(query[name], "") && name != "exclude_requester" && name != "elicitation":
			return refusal.New(api.CodeInvalidFilter, "the query's %s is empty: give it a value, or leave it out", name)
		}
	}
	return nil
}

// truth reads a parameter that is true or false. Errors: bad_request.
func truth(query url.Values, name string, otherwise bool) (bool, error) {
	switch value := query.Get(name); {
	case !query.Has(name):
		return otherwise, nil
	case value == "true", value == "false":
		return value == "true", nil
	default:
		return false, refusal.New(api.CodeBadRequest, "the query's %s must be true or false", name)
	}
}

// optionsOf reads the query. Errors: forbidden for an audience that the role may not use;
// bad_request.
func (e *endpoint) optionsOf(r *http.Request) (mcptools.Options, error) {
	identity := auth.From(r.Context())
	query := r.URL.Query()
	if err := checkQuery(query); err != nil {
		return mcptools.Options{}, err
	}
	options := mcptools.Options{
		For: mcptools.For(query.Get("for")), AgentID: query.Get("agent"), SessionID: query.Get("session"),
		Principal: identity.Principal, Version: e.Version, Leaving: func() bool { return true },
		NowMs: e.NowMs, Extend: e.Extend,
		MayDecide: func(context.Context) bool { return identity.May(auth.Decide) }, Link: e.linksOf(r),
	}
	if e.Signing != nil {
		options.Signer = signer{e.Signing}
	}
	offered := audiences[identity.Role]
	switch {
	case len(offered) == 0:
		return options, refusal.New(api.CodeForbidden, "the role %s has no tools: it needs the role agent, operator or admin", identity.Role)
	case options.For == "":
		options.For = offered[0]
	case options.For != mcptools.ForAgents && options.For != mcptools.ForPeople && options.For != mcptools.ForBoth:
		return options, refusal.New(api.CodeBadRequest, "the query's for must be agents, people or both")
	case !slices.Contains(offered, options.For):
		return options, refusal.New(api.CodeForbidden, "the role %s is not offered the tools of %s", identity.Role, options.For)
	}
	// A misspelt value must not let an agent allow its own request.
	excluded, err := truth(query, "exclude_requester", false)
	if err != nil {
		return options, err
	}
	options.ExcludeRequester = excluded
	elicits, err := truth(query, "elicitation", true)
	if err != nil {
		return options, err
	}
	if !elicits {
		options.MayDecide, options.Link = nil, nil
	}
	switch name, selectors := query.Get("escalation"), query["notify"]; {
	case name != "" && len(selectors) > 0:
		return options, refusal.New(api.CodeBadRequest, "the query must have one escalation, or notify")
	case name != "":
		options.Escalation = &api.Escalation{Name: name}
	case len(selectors) > 0:
		options.Escalation = &api.Escalation{Steps: []api.EscalationStep{{Notify: selectors}}}
	}
	if options.AgentID == "" {
		options.AgentID = "mcp"
	}
	for name, id := range map[string]string{"agent": options.AgentID, "session": options.SessionID} {
		if id != "" && !refusal.ValidID(id) {
			return options, refusal.New(api.CodeBadRequest, "the query's %s must have 1 to %d characters of A-Z a-z 0-9 . _ : -", name, api.MaxIDLength)
		}
	}
	return options, nil
}

// signer translates signing errors into errors of mcptools.
type signer struct{ *signing.Keys }

func (s signer) Verify(ctx context.Context, purpose, text string) ([]byte, error) {
	payload, err := s.Keys.Verify(ctx, purpose, text)
	if errors.Is(err, signing.ErrInvalid) {
		return nil, fmt.Errorf("%w: %w", mcptools.ErrUnsigned, err)
	}
	return payload, err
}

// inProcess is a transport that passes the client's calls to the router, as part of the outer call.
type inProcess struct {
	ctx           context.Context //nolint:containedctx // the outer call's context
	handler       http.Handler
	authorization []string
	tls           *tls.ConnectionState // has the caller's certificate
}

// RoundTrip returns the complete response.
func (p *inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)()
	inner := r.Clone(ctx)
	inner.Header["Authorization"], inner.TLS = p.authorization, p.tls
	inner.RequestURI = r.URL.RequestURI()
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	defer inner.Body.Close()
	answer := &answer{}
	p.handler.ServeHTTP(answer, inner)
	answer.WriteHeader(http.StatusOK)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: answer.Status, Status: http.StatusText(answer.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.Header(), Body: io.NopCloser(&answer.Body), ContentLength: int64(answer.Body.Len()), Request: r,
	}, nil
}

// answer records a response without interim ones.
type answer struct{ wire.Recorded }

func (a *answer) WriteHeader(status int) {
	if status >= http.StatusOK {
		a.Recorded.WriteHeader(status)
	}
}
