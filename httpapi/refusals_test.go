package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/webhooks"
)

const (
	ticketsPath     = "/v1/stream-tickets"
	channelTestPath = "/v1/channels/mail/test"
)

func testRefusals(t *testing.T, a *rig) {
	parallel(t, "requesters, where nobody shows who they are", func(t *testing.T) {
		excluding := `{"approvals":[{"id":"a","tool_call_id":"a","tool_name":"x","input":1,"exclude_requester":true}]}`
		run, session := a.name("run"), a.name("session")
		a.post(t, "/v1/runs", `{"session_id":"`+session+`","input":1,"suspend":`+excluding+`}`).refused(api.CodeRequesterExclusionNeedsAuth)
		a.get(t, "/v1/sessions/"+session).refused(api.CodeSessionNotFound)
		fence := a.post(t, "/v1/runs", `{"run_id":"`+run+`","input":1,"claim":{"worker_id":"w"}}`).want(http.StatusAccepted).textAt("lease", "fence")
		a.post(t, "/v1/runs/"+run+"/suspend", `{"fence":"`+fence+`",`+excluding[1:]).refused(api.CodeRequesterExclusionNeedsAuth)
	})
	parallel(t, "what is not there", func(t *testing.T) {
		for _, o := range operations(t) {
			if o.unknown != "" {
				a.do(t, o.method, o.path, o.body).refused(o.unknown)
			}
		}
	})
	parallel(t, "names that nothing can have", func(t *testing.T) {
		named := regexp.MustCompile(`/nobody\b`)
		for _, o := range operations(t) {
			if !named.MatchString(o.path) {
				continue
			}
			for _, id := range []string{"%00", "%ff", "%2e%2e", "a%2Fb", "caf%C3%A9", "%20", strings.Repeat("x", 201)} {
				got := a.do(t, o.method, named.ReplaceAllString(o.path, "/"+id), o.body, unchecked())
				if o.unknown != "" {
					got.refused(o.unknown)
				}
				require.Less(t, got.status, http.StatusInternalServerError, "%s of %q", o.path, id)
			}
			// A script with an unset variable writes an empty name, which must not mean every session, or a new one.
			a.do(t, o.method, named.ReplaceAllString(o.path, "/"), o.body, unchecked()).refused(wire.CodeRouteNotFound)
		}
	})
	parallel(t, "bodies, in the order media type, size, JSON, schema", func(t *testing.T) {
		large := `{"input":"` + strings.Repeat("x", maxTestBody) + `"`
		for _, o := range operations(t) {
			if o.method != http.MethodPost && o.method != http.MethodPatch && o.method != http.MethodPut {
				continue
			}
			for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "application", "application/jsonp"} {
				a.do(t, o.method, o.path, "{", mediaType(kind), unchecked()).refused(wire.CodeUnsupportedMediaType)
			}
			a.do(t, o.method, o.path, "{", header("Content-Encoding", "gzip"), unchecked()).refused(wire.CodeUnsupportedMediaType)
			a.do(t, o.method, o.path, large, unchecked()).refused(wire.CodePayloadTooLarge)
			for _, broken := range []string{"{", "{}{}", `{"a":1,"a":2}`, "nil", "\xef\xbb\xbf{}", "{'a':1}", "\"\xff\"", " "} {
				a.do(t, o.method, o.path, broken, unchecked()).refused(api.CodeBadRequest)
			}
			for _, wrong := range []string{"[]", "7", `"text"`, "true"} {
				a.do(t, o.method, o.path, wrong).refused(api.CodeInvalidRequest).pointer("")
			}
			for _, kind := range []string{"application/json; charset=UTF-8", "Application/JSON", "application/vnd.api+json"} {
				got := a.do(t, o.method, o.path, "[]", mediaType(kind), unchecked())
				got.refused(api.CodeInvalidRequest)
			}
			if !o.optional {
				a.do(t, o.method, o.path, "", mediaType("application/json"), unchecked()).refused(api.CodeBadRequest)
				a.do(t, o.method, o.path, "", unchecked()).refused(wire.CodeUnsupportedMediaType)
			}
		}
	})
	parallel(t, "a body of unknown length", func(t *testing.T) {
		chunked := func(r *http.Request) *http.Request {
			r.ContentLength = -1
			return r
		}
		a.post(t, "/v1/runs", `{"input":"`+strings.Repeat("x", maxTestBody)+`"}`, chunked, unchecked()).refused(wire.CodePayloadTooLarge)
		a.post(t, "/v1/runs", `{"input":1}`, chunked, unchecked()).want(http.StatusAccepted)
		a.post(t, "/v1/sessions", `{}`, chunked, mediaType("text/plain"), unchecked()).refused(wire.CodeUnsupportedMediaType)
		a.post(t, "/v1/sessions", `{}`, chunked, unchecked()).want(http.StatusCreated)
	})
	parallel(t, "a web page of another origin, and another name", func(t *testing.T) {
		others := []operation{{method: "GET", path: "/version"}, {method: "GET", path: "/openapi.yaml"}, {method: "GET", path: "/openapi.json"}, {method: "GET", path: "/v1/me"}, {method: "GET", path: "/v1/keys"}}
		for _, o := range append(others, operations(t)...) {
			for _, origin := range []string{"https://elsewhere.example", "null", "http://127.0.0.1:1", "file://"} {
				a.do(t, o.method, o.path, o.body, header("Origin", origin)).refused(wire.CodeOriginNotAllowed)
			}
			host := func(r *http.Request) *http.Request {
				r.Host = "elsewhere.example"
				return r
			}
			a.do(t, o.method, o.path, o.body, host).refused(wire.CodeHostNotAllowed)
		}
		a.get(t, "/v1/runs?limit=1", header("Origin", a.server.URL)).want(http.StatusOK)
	})
	parallel(t, "routes and methods", func(t *testing.T) {
		for _, path := range []string{"/", "/v1", "/v1/", "/v1/runs/", "/v1/run", "/v1/runs/a/b", "/v1/streams", "/metrics", "/v1/rule", "/%00"} {
			a.get(t, path).refused(wire.CodeRouteNotFound)
		}
		for _, bad := range []struct{ method, path, allow string }{
			{"DELETE", "/v1/runs", "GET, HEAD, POST"},
			{"PUT", "/v1/runs/a", "GET, HEAD"},
			{"GET", "/v1/runs/a/cancel", "POST"},
			{"OPTIONS", "/v1/sessions", "GET, HEAD, POST"},
			{"PROPFIND", "/v1/sessions", "GET, HEAD, POST"},
			{"POST", "/livez", "GET, HEAD"},
			{"POST", "/v1/sessions/a/mailbox", "GET"},
			{"POST", "/v1/runs/a/stream", "GET"},
			{"PUT", "/v1/rules/a", "GET, HEAD, DELETE"},
		} {
			require.Equal(t, bad.allow, a.do(t, bad.method, bad.path, "").refused(wire.CodeMethodNotAllowed).header.Get("Allow"))
		}
		blind := a.do(t, http.MethodHead, "/v1/sessions/a/mailbox", "").want(http.StatusMethodNotAllowed)
		require.Equal(t, "GET", blind.header.Get("Allow"), "HEAD would lease what it does not show")
		endless := a.do(t, http.MethodHead, "/v1/runs/a/stream", "").want(http.StatusMethodNotAllowed)
		require.Equal(t, "GET", endless.header.Get("Allow"))
		a.get(t, "/v1/runs/claim", unchecked()).refused(api.CodeRunNotFound)
		made := a.post(t, "/v1/runs", `{"input":1}`).want(http.StatusAccepted)
		head := a.do(t, http.MethodHead, made.header.Get("Location"), "").want(http.StatusOK)
		require.Empty(t, head.text)
		require.NotEmpty(t, head.header.Get("Content-Length"))
	})
	parallel(t, "a store that fails is told as a failure of ours", func(t *testing.T) {
		for _, failing := range []struct {
			err  error
			code api.Code
		}{
			{errors.New("secret of the database"), wire.CodeInternalError},
			{runs.ErrUnavailable, wire.CodeServiceUnavailable},
			{runs.ErrClosed, wire.CodeServiceUnavailable},
			{refusal.New("no_such_code", "secret"), wire.CodeInternalError},
		} {
			broken := serve(t, &brokenStore{Store: a.store, err: failing.err}, a.contract)
			for _, o := range operations(t) {
				if o.path == ticketsPath || strings.HasPrefix(o.path, "/v1/channels/") {
					continue // tickets are not checked when no credential is required; a test message reads nothing
				}
				got := broken.do(t, o.method, o.path, o.body).refused(failing.code)
				require.NotContains(t, got.text, "secret")
				require.Equal(t, failing.code == wire.CodeServiceUnavailable, got.header.Get("Retry-After") != "")
			}
			unsigned := serve(t, a.store, a.contract, func(o *httpapi.Options) {
				o.Signing = newSigning(t, &brokenStore{err: failing.err})
			})
			require.NotContains(t, unsigned.get(t, "/v1/keys").refused(failing.code).text, "secret")
			asking := serve(t, a.store, a.contract, func(o *httpapi.Options) {
				o.Keyring = newKeyring(&brokenStore{err: failing.err}, auth.Required)
			})
			require.NotContains(t, asking.get(t, "/v1/me", bearer(auth.NewSecret())).refused(failing.code).text, "secret")
			for _, path := range []string{"/v1/login", "/v1/logout", ticketsPath, channelTestPath} {
				require.NotContains(t, asking.do(t, http.MethodPost, path, "", bearer(auth.NewSecret())).refused(failing.code).text, "secret")
			}
			notReady := broken.get(t, "/readyz").refused(wire.CodeServiceUnavailable)
			require.NotContains(t, notReady.text, "secret")
			require.Equal(t, failing.code == wire.CodeInternalError, strings.Contains(notReady.text, "does the schema have this program's version"), notReady.text)
		}
		full := serve(t, &brokenStore{Store: a.store, err: &runs.NotReadyError{Detail: "the disk is full", Err: errors.New("secret")}}, a.contract)
		notReady := full.get(t, "/readyz").refused(wire.CodeServiceUnavailable)
		require.Contains(t, notReady.text, "not ready: the disk is full")
		require.NotContains(t, notReady.text, "secret")
	})
}

func TestConfiguredHostsAndOrigins(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) {
		o.Hosts, o.Origins = []string{"holdpoint.example"}, []string{"https://inbox.example"}
	})
	named := func(host string) option {
		return func(r *http.Request) *http.Request {
			r.Host = host
			return r
		}
	}
	for _, host := range []string{"holdpoint.example", "HOLDPOINT.example:8080", "localhost", "localhost:1", "127.0.0.9:80", "[::1]", "[::1]:80", "[::2]", "1.2.3.4:80", "[fe80::1%25eth0]:80"} {
		a.get(t, "/v1/runs", named(host)).want(http.StatusOK)
	}
	for _, host := range []string{"other.example", "127.0.0.1.example", "localhost.example", "1.2.3.4.example:80", "1.2.3", "0x7f000001", "2130706433"} {
		a.get(t, "/v1/runs", named(host)).refused(wire.CodeHostNotAllowed)
		a.get(t, "/livez", named(host)).want(http.StatusOK)
	}
	a.get(t, "/v1/runs", header("Origin", "https://inbox.example")).want(http.StatusOK)
	a.get(t, "/v1/runs", header("Origin", "https://inbox.example.evil")).refused(wire.CodeOriginNotAllowed)
	everybody := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.Hosts = []string{"*"} })
	everybody.get(t, "/v1/runs", named("any.example")).want(http.StatusOK)
}

// brokenStore fails every call.
type brokenStore struct {
	runs.Store
	err error
}

func (s *brokenStore) Within(reads.Scope) reads.Reader { return s }

func (s *brokenStore) Do(context.Context, runs.Command) (runs.Reply, error) {
	return runs.Reply{}, s.err
}

func (s *brokenStore) Run(context.Context, string) (*model.RunRecord, error) { return nil, s.err }

func (s *brokenStore) ClaimedRun(context.Context, string) (*model.RunRecord, error) {
	return nil, s.err
}

func (s *brokenStore) Session(context.Context, string) (*model.SessionRecord, error) {
	return nil, s.err
}

func (s *brokenStore) SettledAfter(context.Context, string, int64) (*model.Run, []model.Request, error) {
	return nil, nil, s.err
}

func (s *brokenStore) Sessions(context.Context, reads.SessionQuery) ([]model.SessionSummary, error) {
	return nil, s.err
}

func (s *brokenStore) Runs(context.Context, reads.RunQuery) ([]model.RunRecord, error) {
	return nil, s.err
}

func (s *brokenStore) PendingRequests(context.Context, reads.RequestQuery) ([]model.PendingRequest, error) {
	return nil, s.err
}

func (s *brokenStore) EventsWithin(context.Context, reads.EventQuery) ([]model.Event, bool, error) {
	return nil, false, s.err
}

func (s *brokenStore) Effects(context.Context, reads.EffectQuery) ([]model.Effect, error) {
	return nil, s.err
}

func (s *brokenStore) Claimable(context.Context, reads.ClaimableQuery) ([]reads.Claimable, error) {
	return nil, s.err
}
func (s *brokenStore) Rule(context.Context, string) (*rules.Record, error) { return nil, s.err }

func (s *brokenStore) Rules(context.Context, reads.RuleQuery) ([]rules.Record, error) {
	return nil, s.err
}

func (s *brokenStore) RulesFor(context.Context, string, int, *reads.Budget) ([]rules.Rule, int64, error) {
	return nil, 0, s.err
}

// AddWebhook and the methods below implement webhooks.Store and the store of deliveries.
func (s *brokenStore) AddWebhook(context.Context, *webhooks.Endpoint, *journal.Entry) (bool, error) {
	return false, s.err
}

func (s *brokenStore) Webhooks(context.Context) ([]webhooks.Endpoint, error) { return nil, s.err }

func (s *brokenStore) ChangeWebhook(context.Context, *webhooks.Endpoint, int64, *journal.Entry) (bool, error) {
	return false, s.err
}

func (s *brokenStore) RemoveWebhook(context.Context, string, *journal.Entry) (bool, error) {
	return false, s.err
}

func (s *brokenStore) DueDeliveries(context.Context, string, int) ([]reads.DueEffect, error) {
	return nil, s.err
}

func (s *brokenStore) DueCallbacks(context.Context, []string, int) ([]reads.DueEffect, error) {
	return nil, s.err
}

// AddEntry and the methods below implement journal.Rows.
func (s *brokenStore) AddEntry(context.Context, *journal.Entry) error { return s.err }

func (s *brokenStore) PendingEntries(context.Context, int) ([]journal.Entry, error) {
	return nil, s.err
}

func (s *brokenStore) LastEntry(context.Context) (journal.Entry, error) {
	return journal.Entry{}, s.err
}

func (s *brokenStore) SealEntries(context.Context, []journal.Entry) error { return s.err }

func (s *brokenStore) EntriesAfter(context.Context, int64, int) ([]journal.Entry, error) {
	return nil, s.err
}

// RedactEvents implements upkeep.Redactor.
func (s *brokenStore) RedactEvents(context.Context, *upkeep.Redaction) (int, error) { return 0, s.err }

// AddToken and the methods below implement auth.Tokens.
func (s *brokenStore) AddToken(context.Context, *auth.Token, *journal.Entry) (*auth.Token, error) {
	return nil, s.err
}

func (s *brokenStore) TokenByKey(context.Context, string, string) (*auth.Token, error) {
	return nil, s.err
}

func (s *brokenStore) Token(context.Context, string) (*auth.Token, error) { return nil, s.err }

func (s *brokenStore) TokenByHash(context.Context, string) (*auth.Token, error) { return nil, s.err }

func (s *brokenStore) TokensByID(context.Context, []string) ([]auth.Token, error) { return nil, s.err }

func (s *brokenStore) ListTokens(context.Context, auth.TokenQuery) ([]auth.Token, error) {
	return nil, s.err
}

func (s *brokenStore) Deciders(context.Context, int64, int) ([]auth.Token, error) {
	return nil, s.err
}

func (s *brokenStore) TokensOf(context.Context, string, int64, int) ([]auth.Token, error) {
	return nil, s.err
}

func (s *brokenStore) AddSigningKeys(context.Context, []signing.PublicKey, []*journal.Entry) error {
	return s.err
}

func (s *brokenStore) SigningKeys(context.Context, int) ([]signing.PublicKey, error) {
	return nil, s.err
}

func (s *brokenStore) AnyToken(context.Context) (bool, error) { return false, s.err }

func (s *brokenStore) RotateToken(context.Context, string, string, string, int64, int64, *journal.Entry) (bool, error) {
	return false, s.err
}

func (s *brokenStore) RevokeToken(context.Context, string, bool, int64, *journal.Entry) (bool, error) {
	return false, s.err
}

func (s *brokenStore) AddSignIn(context.Context, *auth.SignIn, string, *journal.Entry) error {
	return s.err
}

func (s *brokenStore) SignInsByHash(context.Context, []string) ([]auth.SignedIn, error) {
	return nil, s.err
}

func (s *brokenStore) RenewSignIn(context.Context, string, int64) error { return s.err }

func (s *brokenStore) EndSignIn(context.Context, string, *journal.Entry) error { return s.err }

func (s *brokenStore) AddTicket(context.Context, *auth.Ticket) error { return s.err }

func (s *brokenStore) TicketByHash(context.Context, string) (*auth.Ticket, error) { return nil, s.err }

func (s *brokenStore) SpendTicket(context.Context, string) (bool, error) { return false, s.err }

func (s *brokenStore) TouchToken(context.Context, string, int64) error { return s.err }

func (s *brokenStore) Ready(context.Context) error { return s.err }

func (s *brokenStore) Decisions(context.Context, reads.DecisionQuery) ([]model.DecidedRequest, error) {
	return nil, s.err
}

func (s *brokenStore) DecisionByHandle(context.Context, string) (*model.DecidedRequest, error) {
	return nil, s.err
}

func (s *brokenStore) SessionNames(context.Context, []string) (map[string]model.SessionName, error) {
	return nil, s.err
}

func (s *brokenStore) LeasedRuns(context.Context, reads.LeaseQuery) ([]model.Run, int64, error) {
	return nil, 0, s.err
}
