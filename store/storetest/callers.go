package storetest

import (
	"fmt"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/webhooks"
)

// administered is a store with what an admin changes.
type administered interface {
	auth.Tokens
	webhooks.Store
	upkeep.Redactor
}

// changesNeedTheirToken changes tokens, webhooks and events here while another store rotates and revokes the
// token of the caller.
func changesNeedTheirToken(h *harness, here, other runs.Store) {
	store, by := here.(administered), h.operator().identity
	entry := func(what api.AuditEventType) *journal.Entry {
		return auth.ChangeBy(by, h.clock.NowMs(), api.AuditEvent{Type: what, TokenID: "t"})
	}
	number := 0
	// Each change is of its own token, webhook or session, so that all of them could be made each time.
	changes := func() (failures []error) {
		number++
		token := func(kind string) string {
			tokenID := fmt.Sprint(kind, number)
			_, err := store.AddToken(h.ctx, &auth.Token{
				TokenID: tokenID, Name: tokenID, Role: api.RoleOperator, Principal: "user:x", SecretHash: auth.HashOf(tokenID), CreatedAtMs: 1, CreatedBy: "user:ada",
			}, nil)
			require.NoError(h, err)
			return tokenID
		}
		webhook := func(kind string, made *journal.Entry) (*webhooks.Endpoint, error) {
			e := &webhooks.Endpoint{WebhookID: fmt.Sprint(kind, number), DataKey: "k", Secret: "s", CreatedBy: "user:ada"}
			_, err := store.AddWebhook(h.ctx, e, made)
			return e, err
		}
		changed, err := webhook("changed", nil)
		require.NoError(h, err)
		removed, err := webhook("removed", nil)
		require.NoError(h, err)
		rotated, revoked := token("rotated"), token("revoked")
		sessionID, runID := fmt.Sprint("s", number), fmt.Sprint("r", number)
		h.create(sessionID, runID)
		h.do(&runs.CancelRun{RunID: runID})
		before := h.database.Tables(h)

		failed := func(_ any, err error) { failures = append(failures, err) }
		failed(store.AddToken(h.ctx, &auth.Token{
			TokenID: fmt.Sprint("made", number), Name: "made", Role: api.RoleAdmin, Principal: "user:made", SecretHash: auth.HashOf(fmt.Sprint("made", number)),
			CreatedAtMs: h.clock.NowMs(), CreatedBy: by.Principal,
		}, entry(api.AuditTokenCreated)))
		failed(store.RotateToken(h.ctx, rotated, auth.HashOf("second of "+rotated), "hint", h.clock.NowMs(), h.clock.NowMs(), entry(api.AuditTokenRotated)))
		failed(store.RevokeToken(h.ctx, revoked, true, h.clock.NowMs(), entry(api.AuditTokenRevoked)))
		failed(webhook("made", entry(api.AuditWebhookCreated)))
		failed(store.ChangeWebhook(h.ctx, changed, changed.UpdatedAtMs, entry(api.AuditWebhookChanged)))
		failed(store.RemoveWebhook(h.ctx, removed.WebhookID, entry(api.AuditWebhookRemoved)))
		failed(store.RedactEvents(h.ctx, &upkeep.Redaction{
			SessionID: sessionID, EventIDs: []int64{1}, Entry: func() *journal.Entry { return entry(api.AuditEventsRedacted) },
		}))
		if failures[0] != nil {
			require.Empty(h, Diff(before, h.database.Tables(h)), "a refused change changes nothing")
		}
		return failures
	}
	work := func() {
		h.Helper()
		for n, err := range changes() {
			require.NoError(h, err, "change %d", n)
		}
	}
	refused := func() {
		h.Helper()
		for n, err := range changes() {
			require.Equal(h, api.CodeInvalidToken, refusal.CodeOf(err), "change %d: %v", n, err)
		}
	}
	work()
	_, err := other.(auth.Tokens).RotateToken(h.ctx, "t", auth.HashOf("second"), "hint", h.clock.NowMs()+100, h.clock.NowMs(), nil)
	require.NoError(h, err)
	work()
	h.clock.Advance(100)
	refused()
	by.Credential = auth.HashOf("second")
	work()
	by.Credential = "" // a signed-in browser
	signIn := func(cookie string) {
		h.Helper()
		by.Via, by.CookieHash = auth.ViaSession, auth.HashOf(cookie)
		in := auth.SignIn{CookieHash: by.CookieHash, TokenID: "t", CreatedAtMs: h.clock.NowMs(), ExpiresAtMs: h.clock.NowMs() + 100}
		require.NoError(h, other.(auth.Tokens).AddSignIn(h.ctx, &in, "", nil))
	}
	signIn("first")
	work()
	require.NoError(h, other.(auth.Tokens).EndSignIn(h.ctx, by.CookieHash, nil))
	refused()
	signIn("second")
	work()
	h.clock.Advance(100)
	refused()
	signIn("third")
	work()
	_, err = other.(auth.Tokens).RotateToken(h.ctx, "t", auth.HashOf("third"), "hint", h.clock.NowMs()+100, h.clock.NowMs(), nil)
	require.NoError(h, err)
	refused()
	signIn("fourth")
	work()
	_, err = other.(auth.Tokens).RevokeToken(h.ctx, "t", true, h.clock.NowMs(), nil)
	require.NoError(h, err)
	refused()
}

// oneOfTwoAdminsWins lets two admins revoke each other's token at once, and two admins rotate each other's:
// neither waits for the other's row.
func oneOfTwoAdminsWins(h *harness, stores ...runs.Store) {
	nowMs := h.clock.NowMs()
	for change, makes := range map[api.AuditEventType]func(store auth.Tokens, tokenID string, entry *journal.Entry) (bool, error){
		api.AuditTokenRevoked: func(store auth.Tokens, tokenID string, entry *journal.Entry) (bool, error) {
			return store.RevokeToken(h.ctx, tokenID, false, nowMs, entry)
		},
		api.AuditTokenRotated: func(store auth.Tokens, tokenID string, entry *journal.Entry) (bool, error) {
			return store.RotateToken(h.ctx, tokenID, auth.HashOf(tokenID+"2"), "hint", nowMs, nowMs, entry)
		},
	} {
		for round := range 20 {
			id := func(n int) string { return fmt.Sprint(change, round, "-", n) }
			for n := range stores {
				_, err := h.journal().AddToken(h.ctx, &auth.Token{
					TokenID: id(n), Name: id(n), Role: api.RoleAdmin, Principal: "user:" + id(n), SecretHash: auth.HashOf(id(n)), CreatedAtMs: 1, CreatedBy: "user:ada",
				}, nil)
				require.NoError(h, err)
			}
			made, failures := make([]bool, len(stores)), make([]error, len(stores))
			var group sync.WaitGroup
			for n, store := range stores {
				group.Go(func() {
					by := &auth.Identity{Principal: "user:" + id(n), TokenID: id(n), Credential: auth.HashOf(id(n))}
					entry := auth.ChangeBy(by, nowMs, api.AuditEvent{Type: change, TokenID: id(1 - n)})
					made[n], failures[n] = makes(store.(auth.Tokens), id(1-n), entry)
				})
			}
			group.Wait()
			require.ElementsMatch(h, []bool{true, false}, made, "%s: %v", change, failures)
			for n, err := range failures {
				if !made[n] {
					require.Equal(h, api.CodeInvalidToken, refusal.CodeOf(err), "%s: %v", change, err)
				}
			}
		}
	}
}
