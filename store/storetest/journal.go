package storetest

import (
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

var journalTests = map[string]func(*harness){
	"journal/lines are numbered and tied together once": sealedOnce,
	"journal/a change and its line happen together":     changedWithLine,
	"journal/rules":                        rulesInJournal,
	"journal/rules of a session that ends": endedRulesInJournal,
}

// journaled is a store that keeps tokens and the audit's own log.
type journaled interface {
	journal.Rows
	auth.Tokens
}

func (h *harness) journal() journaled {
	h.Helper()
	kept, keeps := h.store.(journaled)
	require.True(h, keeps)
	return kept
}

// sealed seals the log, checks that it is whole, and returns it.
func (h *harness) sealed() []journal.Entry {
	h.Helper()
	kept := h.journal()
	require.NoError(h, journal.Seal(h.ctx, kept))
	pending, err := kept.PendingEntries(h.ctx, 10)
	require.NoError(h, err)
	require.Empty(h, pending)
	var all []journal.Entry
	var last journal.Entry
	for {
		page, err := kept.EntriesAfter(h.ctx, last.EntryID, 7)
		require.NoError(h, err)
		for _, entry := range page {
			require.Equal(h, last.EntryID+1, entry.EntryID)
			require.Equal(h, last.Hash, entry.Prev)
			require.Equal(h, entry.HashOf(), entry.Hash)
			last = entry
		}
		if all = append(all, page...); len(page) < 7 {
			break
		}
	}
	newest, err := kept.LastEntry(h.ctx)
	require.NoError(h, err)
	require.Equal(h, last, newest)
	return all
}

func sealedOnce(h *harness) {
	kept := h.journal()
	require.Empty(h, h.sealed())
	const writers, each = 3, 5
	var group sync.WaitGroup
	failures := make(chan error, writers*(each+1))
	for w := range writers {
		group.Go(func() {
			for i := range each {
				failures <- kept.AddEntry(h.ctx, journal.New(int64(i), fmt.Sprintf("user:%d", w), api.AuditEvent{Type: api.AuditExported, SinceMs: int64(i)}))
			}
		})
		group.Go(func() { failures <- journal.Seal(h.ctx, kept) })
	}
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(h, err)
	}
	all := h.sealed()
	require.Len(h, all, writers*each)

	// A late seal of lines that others have sealed meanwhile changes nothing, whatever it
	// assumed.
	require.NoError(h, kept.AddEntry(h.ctx, journal.New(1, "user:late", api.AuditEvent{Type: api.AuditExported})))
	pending, err := kept.PendingEntries(h.ctx, 10)
	require.NoError(h, err)
	require.Len(h, pending, 1)
	for _, stale := range []journal.Entry{
		{ArrivalID: all[3].ArrivalID, EntryID: writers*each + 1, Prev: all[len(all)-1].Hash, Hash: all[3].Hash},
		{ArrivalID: pending[0].ArrivalID, EntryID: writers * each, Prev: all[len(all)-2].Hash, Hash: all[3].Hash},
		{ArrivalID: pending[0].ArrivalID, EntryID: writers*each + 2, Prev: all[len(all)-1].Hash, Hash: all[3].Hash},
		{ArrivalID: pending[0].ArrivalID, EntryID: writers*each + 1, Prev: all[len(all)-2].Hash, Hash: all[3].Hash},
	} {
		require.NoError(h, kept.SealEntries(h.ctx, []journal.Entry{stale}))
	}
	again := h.sealed()
	require.Equal(h, all, again[:len(all)])
	require.Len(h, again, len(all)+1)
}

func changedWithLine(h *harness) {
	kept := h.journal()
	token := func(id string) *auth.Token {
		return &auth.Token{
			TokenID: id, Name: id, Role: api.RoleAgent, Principal: "agent:" + id, SecretHash: auth.HashOf(id), CreatedBy: "user:ada",
			Key: id, Fingerprint: "f",
		}
	}
	line := func(what api.AuditEventType) *journal.Entry {
		return journal.New(5, "user:ada", api.AuditEvent{Type: what, TokenID: "t"})
	}
	for range 2 {
		_, err := kept.AddToken(h.ctx, token("t"), line(api.AuditTokenCreated))
		require.NoError(h, err)
	}
	signIn := func(secretHash string) error {
		return kept.AddSignIn(h.ctx, &auth.SignIn{CookieHash: auth.HashOf("c"), TokenID: "t", ExpiresAtMs: 100}, secretHash, line(api.AuditSignedIn))
	}
	require.NoError(h, signIn(auth.HashOf("t")))
	for range 2 {
		require.NoError(h, kept.EndSignIn(h.ctx, auth.HashOf("c"), line(api.AuditSignedOut)))
	}
	require.Equal(h, api.CodeInvalidToken, refusal.CodeOf(signIn(auth.HashOf("x"))))
	for range 2 {
		_, err := kept.RevokeToken(h.ctx, "t", true, 7, line(api.AuditTokenRevoked))
		require.NoError(h, err)
	}
	_, err := kept.RotateToken(h.ctx, "t", auth.HashOf("x"), "x", 0, 8, line(api.AuditTokenRotated))
	require.NoError(h, err)
	for _, secretHash := range []string{auth.HashOf("t"), ""} {
		require.Equal(h, api.CodeInvalidToken, refusal.CodeOf(signIn(secretHash)))
	}
	var what []api.AuditEventType
	for _, entry := range h.sealed() {
		what = append(what, entry.Type)
	}
	require.Equal(h, []api.AuditEventType{api.AuditTokenCreated, api.AuditSignedIn, api.AuditSignedOut, api.AuditTokenRevoked}, what, "what changes nothing leaves no line")

	// A line that cannot be written rolls back its change.
	bad := line(api.AuditTokenCreated)
	bad.Actor = ""
	_, err = kept.AddToken(h.ctx, token("other"), bad)
	require.Error(h, err)
	_, err = kept.Token(h.ctx, "other")
	require.Error(h, err)
	require.Len(h, h.sealed(), 4)
}

func rulesInJournal(h *harness) {
	actor := runs.Actor{Name: "user:ada", Via: api.ViaAPI, ViaPrincipal: "service:gateway"}
	of := func(id, session string) *runs.AddRule {
		return &runs.AddRule{RuleID: id, SessionID: session, ToolName: "bash", Effect: api.RuleDeny, Match: api.RuleMatch{PatternKeys: []string{"k"}}, Actor: actor}
	}
	for range 2 {
		h.do(of("for-all", ""))
		h.do(of("for-one", "s"))
	}
	for range 2 {
		h.do(&runs.RevokeRule{RuleID: "for-all", Actor: actor})
		h.do(&runs.RevokeRule{RuleID: "for-one", SessionID: "s", Actor: actor})
	}
	var what []string
	for _, entry := range h.sealed() {
		require.Equal(h, "user:ada", entry.Actor)
		require.Contains(h, string(entry.Body), `"via":"api","via_principal":"service:gateway"`)
		what = append(what, string(entry.Type))
	}
	require.Equal(h, []string{"rule_created", "rule_created", "rule_revoked", "rule_revoked"}, what)
	require.Contains(h, string(h.sealed()[0].Body), `"session_id":"`+rules.AllSessions+`"`)
}

// endedRulesInJournal holds that the end of a session revokes its rules in force and leaves a line for each, in their order.
func endedRulesInJournal(h *harness) {
	actor := runs.Actor{Name: "user:ada", Via: api.ViaAPI}
	h.do(&runs.AddRule{RuleID: "used-up", SessionID: "s", ToolName: "bash", Match: anyInput, MaxUses: 1, Actor: actor})
	require.Equal(h, "used-up", h.settledBy("s", "r", approval("a")))
	of := func(id, session string) *runs.AddRule {
		return &runs.AddRule{RuleID: id, SessionID: session, ToolName: "bash", Effect: api.RuleDeny, Match: api.RuleMatch{PatternKeys: []string{id}}, Actor: actor}
	}
	for _, id := range []string{"revoked-before", "d", "a", "e", "c", "b"} {
		h.do(of(id, "s"))
	}
	expired, dueAtMs := of("expired", "s"), h.clock.NowMs()+1
	expired.ExpiresAtMs = &dueAtMs
	h.do(expired)
	h.do(of("other", "other"))
	h.do(&runs.RevokeRule{RuleID: "revoked-before", SessionID: "s", Actor: actor})
	h.clock.Advance(1)
	before := len(h.sealed())
	for range 2 {
		h.do(&runs.EndSession{SessionID: "s", Actor: runs.Actor{Name: "user:bo", Via: api.ViaAPI}})
	}
	var revoked []string
	for _, entry := range h.sealed()[before:] {
		var event api.AuditEvent
		require.NoError(h, json.Unmarshal(entry.Body, &event))
		require.Equal(h, []any{"user:bo", api.AuditRuleRevoked, api.ViaAPI, "s"}, []any{entry.Actor, event.Type, event.Via, event.SessionID})
		revoked = append(revoked, event.RuleID)
	}
	require.Equal(h, []string{"a", "b", "c", "d", "e"}, revoked)
	for _, id := range []string{"used-up", "expired"} {
		require.Empty(h, h.rule(id).Rule.RevokedBy, "it was over, and there may be any number of them")
	}
	vitals, err := h.store.Vitals(h.ctx, 100)
	require.NoError(h, err)
	require.EqualValues(h, 1, vitals.Rules.Count, "only the other session's is in force")
}
