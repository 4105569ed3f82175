package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

var credentialTests = map[string]func(*harness){
	"credentials/a decision needs its token as it is then": tokenAsItIs,
	"credentials/a decision needs its sign-in":             func(h *harness) { decisionNeedsItsSignIn(h, h.store) },
	"credentials/a revocation holds at once":               func(h *harness) { revocationHoldsAtOnce(h, h.store) },
	"credentials/no sign-in outlives a rotation":           func(h *harness) { noSignInOutlivesARotation(h, h.store) },
	"credentials/a change needs its token as it is then":   func(h *harness) { changesNeedTheirToken(h, h.store, h.store) },
	"credentials/of two changes of each other one wins":    func(h *harness) { oneOfTwoAdminsWins(h, h.store, h.store) },
	"credentials/who may decide":                           whoMayDecide,
	"credentials/who may decide by an issuer":              whoMayDecideByIssuer,
}

var credentialReplicaTests = map[string]func(*harness){
	"replicas/a decision needs its token as another made it": func(h *harness) {
		other := h.open()
		h.wait("s", "r", approvals("a", "b"))
		operator := h.operator()
		require.NoError(h, operator.allow(h, h.store, "r", "a"))
		_, err := other.(auth.Tokens).RevokeToken(h.ctx, "t", true, h.clock.NowMs(), nil)
		require.NoError(h, err)
		require.Equal(h, api.CodeInvalidToken, refusal.CodeOf(operator.allow(h, h.store, "r", "b")))
	},
	"replicas/a decision needs its sign-in":                func(h *harness) { decisionNeedsItsSignIn(h, h.open()) },
	"replicas/no sign-in outlives a rotation":              func(h *harness) { noSignInOutlivesARotation(h, h.store, h.open(), h.open()) },
	"replicas/a change needs its token as another made it": func(h *harness) { changesNeedTheirToken(h, h.store, h.open()) },
	"replicas/of two changes of each other one wins":       func(h *harness) { oneOfTwoAdminsWins(h, h.store, h.open()) },
	"replicas/a revocation holds at once":                  func(h *harness) { revocationHoldsAtOnce(h, h.store, h.open(), h.open()) },
}

// operator decides with a token.
type operator struct{ identity *auth.Identity }

// operator creates a token and returns its owner.
func (h *harness) operator() operator {
	h.Helper()
	const tokenID = "t"
	token := &auth.Token{
		TokenID: tokenID, Name: tokenID, Role: api.RoleOperator, Principal: "user:" + tokenID, SecretHash: auth.HashOf(tokenID),
		CreatedAtMs: h.clock.NowMs(), CreatedBy: "user:ada", ExpiresAtMs: h.clock.NowMs() + 1000,
	}
	_, err := h.journal().AddToken(h.ctx, token, nil)
	require.NoError(h, err)
	identity := token.Identity()
	identity.Credential = token.SecretHash
	return operator{identity}
}

// allow allows one request, if the token is valid at that time.
func (o operator) allow(h *harness, store runs.Store, runID, requestID string) error {
	allow := &runs.ResolveApprovals{
		RunID: runID, Resolutions: []runs.ApprovalDecision{{RequestID: requestID, Behavior: api.BehaviorAllow}},
		Actor: runs.Actor{Name: o.identity.Principal, Via: api.ViaAPI},
	}
	_, err := store.Do(h.ctx, &runs.Call{Command: allow, Caller: o.identity})
	return err
}

// The first decision reads the token, and the next need not.
func tokenAsItIs(h *harness) {
	kept := h.journal()
	ids := []string{"a", "b", "c", "d", "e"}
	h.wait("s", "r", approvals(ids...))
	o := h.operator()
	refused := func() {
		h.Helper()
		for _, id := range ids {
			require.Equal(h, api.CodeInvalidToken, refusal.CodeOf(o.allow(h, h.store, "r", id)))
		}
	}
	allowed := func(count int) {
		h.Helper()
		for range count {
			require.NoError(h, o.allow(h, h.store, "r", ids[0]))
			ids = ids[1:]
		}
	}
	allowed(2)
	_, err := kept.RotateToken(h.ctx, "t", auth.HashOf("second"), "hint", h.clock.NowMs()+100, h.clock.NowMs(), nil)
	require.NoError(h, err)
	allowed(1)
	h.clock.Advance(100)
	refused()

	o.identity.Credential = auth.HashOf("second")
	allowed(1)
	h.clock.Advance(900)
	refused()
}

// decisionNeedsItsSignIn ends the sign-ins of browsers through another store. The first decision of each browser may
// read its sign-in, and the next need not.
func decisionNeedsItsSignIn(h *harness, other runs.Store) {
	kept := other.(auth.Tokens)
	o := h.operator()
	o.identity.Via, o.identity.Credential = auth.ViaSession, ""
	for name, end := range map[string]func(cookieHash string) error{
		"signed-out": func(cookieHash string) error { return kept.EndSignIn(h.ctx, cookieHash, nil) },
		"rotated": func(string) error {
			_, err := kept.RotateToken(h.ctx, "t", auth.HashOf("second"), "hint", h.clock.NowMs()+100, h.clock.NowMs(), nil)
			return err
		},
	} {
		h.wait(name, name, approvals("a", "b", "c", "d"))
		o.identity.CookieHash = auth.HashOf(name)
		in := &auth.SignIn{CookieHash: o.identity.CookieHash, TokenID: "t", CreatedAtMs: h.clock.NowMs(), ExpiresAtMs: h.clock.NowMs() + 1000}
		require.NoError(h, kept.AddSignIn(h.ctx, in, "", nil))
		require.NoError(h, o.allow(h, h.store, name, "a"))
		require.NoError(h, o.allow(h, h.store, name, "b"))
		require.NoError(h, kept.RenewSignIn(h.ctx, in.CookieHash, in.ExpiresAtMs+1))
		require.NoError(h, o.allow(h, h.store, name, "c"))
		require.NoError(h, end(in.CookieHash))
		for range 2 {
			require.Equal(h, api.CodeInvalidToken, refusal.CodeOf(o.allow(h, h.store, name, "d")), name)
		}
	}
	o.identity.CookieHash = ""
	require.NoError(h, o.allow(h, h.store, "rotated", "d"), "only the sign-in has ended")
}

// Many tokens of agents do not hide the token of a person.
func whoMayDecide(h *harness) {
	kept, nowMs := h.journal(), h.clock.NowMs()
	add := func(tokenID string, role api.Role, principal string, expiresAtMs int64) {
		h.Helper()
		_, err := kept.AddToken(h.ctx, &auth.Token{
			TokenID: tokenID, Name: tokenID, Role: role, Principal: principal, SecretHash: auth.HashOf(tokenID),
			CreatedAtMs: nowMs, CreatedBy: "user:ada", ExpiresAtMs: expiresAtMs,
		}, nil)
		require.NoError(h, err)
	}
	ids := func(tokens []auth.Token, err error) []string {
		h.Helper()
		require.NoError(h, err)
		ids := []string{}
		for i := range tokens {
			ids = append(ids, tokens[i].TokenID)
		}
		return ids
	}
	for n := range 5 {
		add(fmt.Sprint("agent", n), api.RoleAgent, "service:agent", 0)
	}
	add("observer", api.RoleObserver, "user:ben", 0)
	add("lapses", api.RoleOperator, "user:ben", nowMs+1000)
	add("revoked", api.RoleOperator, "user:ben", 0)
	add("operator", api.RoleOperator, "user:ben", 0)
	add("admin", api.RoleAdmin, "user:ada", 0)
	_, err := kept.RevokeToken(h.ctx, "revoked", false, nowMs, nil)
	require.NoError(h, err)

	require.ElementsMatch(h, []string{"admin", "lapses", "operator"}, ids(kept.Deciders(h.ctx, nowMs, 3)))
	require.Len(h, ids(kept.Deciders(h.ctx, nowMs, 2)), 2)
	require.ElementsMatch(h, []string{"admin", "operator"}, ids(kept.Deciders(h.ctx, nowMs+1000, 3)))
	require.Equal(h, []string{"operator", "observer", "lapses"}, ids(kept.TokensOf(h.ctx, "user:ben", nowMs, 5)))
	require.Equal(h, []string{"operator", "observer"}, ids(kept.TokensOf(h.ctx, "user:ben", nowMs+1000, 5)))
	require.Empty(h, ids(kept.TokensOf(h.ctx, "user:be", nowMs, 5)))
	require.Empty(h, ids(kept.TokensOf(h.ctx, "user:\xff", nowMs, 5)))
}

// An issuer that takes a role away takes the decisions away: only the identity that a person used last counts.
func whoMayDecideByIssuer(h *harness) {
	kept := h.journal()
	const start, end = 1_000, 9_000
	add := func(tokenID string, role api.Role, principal, createdBy string, createdAtMs int64) {
		h.Helper()
		_, err := kept.AddToken(h.ctx, &auth.Token{
			TokenID: tokenID, Name: tokenID, Role: role, Principal: principal, SecretHash: auth.HashOf(tokenID),
			CreatedAtMs: createdAtMs, CreatedBy: createdBy, Key: tokenID, Fingerprint: tokenID,
		}, nil)
		require.NoError(h, err)
	}
	requireDeciders := func(want ...string) {
		h.Helper()
		tokens, err := kept.Deciders(h.ctx, end, len(want)+1)
		require.NoError(h, err)
		ids := []string{}
		for i := range tokens {
			ids = append(ids, tokens[i].TokenID)
		}
		require.ElementsMatch(h, want, ids)
	}
	add("ada-operator", api.RoleOperator, "user:oidc:ada", auth.ByIssuer, start)
	add("ben-operator", api.RoleOperator, "user:oidc:ben", auth.ByIssuer, start)
	add("cyd-admin", api.RoleAdmin, "user:cert:cyd", auth.ByCertificate, start)
	requireDeciders("ada-operator", "ben-operator", "cyd-admin")
	add("ada-observer", api.RoleObserver, "user:oidc:ada", auth.ByIssuer, start+1)
	add("cyd-operator", api.RoleOperator, "user:cert:cyd", auth.ByCertificate, start+1)
	requireDeciders("ben-operator", "cyd-operator")
	// The person's own tokens count as before, and end no identity.
	add("ada-token", api.RoleOperator, "user:oidc:ada", "user:root", start)
	add("ben-token", api.RoleObserver, "user:oidc:ben", "user:root", start+2)
	requireDeciders("ada-token", "ben-operator", "cyd-operator")
	// The issuer gave the role back, or an admin revoked the newer identity.
	require.NoError(h, kept.TouchToken(h.ctx, "ada-operator", start+2))
	_, err := kept.RevokeToken(h.ctx, "cyd-operator", false, start+2, nil)
	require.NoError(h, err)
	requireDeciders("ada-operator", "ada-token", "ben-operator", "cyd-admin")
	require.NoError(h, kept.TouchToken(h.ctx, "ada-observer", start+3))
	requireDeciders("ada-token", "ben-operator", "cyd-admin")
}

// revocationHoldsAtOnce revokes a token through the last store while it decides in all of them.
func revocationHoldsAtOnce(h *harness, stores ...runs.Store) {
	const callers, each = 8, 40
	var ids []string
	for n := range each {
		ids = append(ids, fmt.Sprint("a", n))
	}
	for caller := range callers {
		h.wait(fmt.Sprint("s", caller), fmt.Sprint("r", caller), approvals(ids...))
	}
	o := h.operator()
	var revoked atomic.Bool
	var group sync.WaitGroup
	begun, failures := make(chan struct{}, callers), make([]error, callers)
	for caller := range callers {
		group.Go(func() {
			for n, id := range ids {
				after := revoked.Load()
				err := o.allow(h, stores[caller%len(stores)], fmt.Sprint("r", caller), id)
				switch code := refusal.CodeOf(err); {
				case err == nil && after:
					failures[caller] = fmt.Errorf("%s was decided after the revocation", id)
				case err != nil && code != api.CodeInvalidToken:
					failures[caller] = fmt.Errorf("%s: %w", id, err)
				}
				if n == 1 || n == 0 && err != nil {
					begun <- struct{}{}
				}
				if err != nil {
					break
				}
			}
		})
	}
	for range callers {
		<-begun
	}
	_, err := stores[len(stores)-1].(auth.Tokens).RevokeToken(h.ctx, "t", true, h.clock.NowMs(), nil)
	require.NoError(h, err)
	revoked.Store(true)
	group.Wait()
	for caller := range callers {
		require.NoError(h, failures[caller])
	}
	require.Equal(h, api.CodeInvalidToken, refusal.CodeOf(o.allow(h, stores[0], "r0", ids[each-1])))
}

// noSignInOutlivesARotation rotates a token through the last store while browsers sign in with its
// secret through all of them.
func noSignInOutlivesARotation(h *harness, stores ...runs.Store) {
	const browsers, each = 8, 40
	h.operator()
	nowMs := h.clock.NowMs()
	cookie := func(browser, n int) string { return auth.HashOf(fmt.Sprint(browser, n)) }
	var group sync.WaitGroup
	begun, failures := make(chan struct{}, browsers), make([]error, browsers)
	for browser := range browsers {
		group.Go(func() {
			kept := stores[browser%len(stores)].(auth.Tokens)
			for n := range each {
				in := &auth.SignIn{CookieHash: cookie(browser, n), TokenID: "t", CreatedAtMs: nowMs, ExpiresAtMs: nowMs + 1000}
				failures[browser] = kept.AddSignIn(h.ctx, in, auth.HashOf("t"), nil)
				if n == 0 {
					begun <- struct{}{}
				}
				if failures[browser] != nil {
					break
				}
			}
		})
	}
	for range browsers {
		<-begun
	}
	rotated, err := stores[len(stores)-1].(auth.Tokens).RotateToken(h.ctx, "t", auth.HashOf("second"), "hint", nowMs, nowMs, nil)
	require.NoError(h, err)
	require.True(h, rotated)
	group.Wait()
	var cookies []string
	for browser := range browsers {
		if failures[browser] != nil {
			require.Equal(h, api.CodeInvalidToken, refusal.CodeOf(failures[browser]), "%v", failures[browser])
		}
		for n := range each {
			cookies = append(cookies, cookie(browser, n))
		}
	}
	left, err := h.journal().SignInsByHash(h.ctx, cookies)
	require.NoError(h, err)
	require.Empty(h, left)
}
