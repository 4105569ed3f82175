package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// testAuditLog checks that every change of permissions is recorded with its actor and via.
func testAuditLog(t *testing.T, a *rig, keyring *auth.Keyring) {
	_, root := token(t, keyring, api.CreateTokenBody{Name: "root", Role: api.RoleAdmin, Principal: "user:mara"})
	me := a.get(t, "/v1/me", bearer(root)).want(http.StatusOK).textAt("token_id")
	before := a.auditLog(t, root)

	made := a.post(t, "/v1/tokens", `{"name":"logged","role":"operator","principal":"user:bo","may_always":true}`, bearer(root)).want(http.StatusCreated)
	tokenID := made.textAt("token", "token_id")
	gateway := a.post(t, "/v1/tokens", `{"name":"gateway","role":"operator","principal":"service:gateway","groups":["oncall"],"session_prefixes":["team:"],"agent_ids":["coder"],`+
		`"may_act_for":true,"may_always":true,"expires_after_ms":60000}`, bearer(root)).want(http.StatusCreated)
	secret := a.post(t, "/v1/tokens/"+tokenID+"/rotate", `{}`, bearer(root)).want(http.StatusOK).textAt("secret")
	login := a.post(t, "/v1/login", "", bearer(secret)).want(http.StatusOK)
	cookie := login.sessionOf()
	a.post(t, "/v1/login", "", bearer(secret), overTLS(), header("Origin", "http://holdpoint.example")).refused(wire.CodeOriginNotAllowed)
	own := header("Origin", a.server.URL)
	rule := a.post(t, "/v1/rules", `{"tool_name":"bash","effect":"deny","match":{"pattern_keys":["logged"]}}`, cookie, own).want(http.StatusCreated).textAt("rule_id")
	a.do(t, http.MethodDelete, "/v1/rules/"+rule, "", bearer(root)).want(http.StatusNoContent)
	a.post(t, "/v1/logout", "", cookie, own).want(http.StatusNoContent)
	a.do(t, http.MethodDelete, "/v1/tokens/"+tokenID, "", bearer(root)).want(http.StatusNoContent)
	a.do(t, http.MethodDelete, "/v1/tokens/"+tokenID, "", bearer(root)).want(http.StatusNoContent)
	a.post(t, "/v1/login", "", bearer(secret)).refused(api.CodeInvalidToken)
	a.get(t, "/v1/audit", bearer(ofRole(t, keyring, api.RoleOperator))).refused(api.CodeForbidden)
	export := a.get(t, "/v1/audit/export", bearer(root)).want(http.StatusOK)

	log := a.auditLog(t, root)[len(before):]
	type line struct{ what, who, via, by string }
	var told []line
	for _, entry := range log {
		var event api.AuditEvent
		require.NoError(t, json.Unmarshal(entry.Event, &event))
		if event.Name != "the-operator" {
			told = append(told, line{string(event.Type), entry.Actor, event.Via, event.ByTokenID})
		}
		require.NotContains(t, string(entry.Event), secret)
		if event.Name == "gateway" {
			view := api.TokenView{
				TokenID: event.TokenID, Name: event.Name, Role: event.Role, Principal: event.Principal, Groups: event.Groups, SessionPrefixes: event.SessionPrefixes,
				AgentIDs: event.AgentIDs, MayActFor: event.MayActFor, MayAlways: event.MayAlways, ExpiresAtMs: event.ExpiresAtMs,
			}
			var shown struct {
				Token api.TokenView `json:"token"`
			}
			require.NoError(t, json.Unmarshal([]byte(gateway.text), &shown))
			view.Hint, view.CreatedAtMs, view.CreatedBy = shown.Token.Hint, shown.Token.CreatedAtMs, shown.Token.CreatedBy
			require.Equal(t, shown.Token, view, "the line says what the token may do")
		}
	}
	require.Equal(t, []line{
		{"token_created", "user:mara", "token", me},
		{"token_created", "user:mara", "token", me},
		{"token_rotated", "user:mara", "token", me},
		{"signed_in", "user:bo", "token", tokenID},
		{"rule_created", "user:bo", "api", tokenID},
		{"rule_revoked", "user:mara", "api", me},
		{"signed_out", "user:bo", "session", tokenID},
		{"token_revoked", "user:mara", "token", me},
		{"audit_exported", "user:mara", "token", me},
	}, told)

	var set api.KeySet
	require.NoError(t, json.Unmarshal([]byte(a.get(t, "/v1/keys").want(http.StatusOK).text), &set))
	keys, err := signing.NewPublic(set)
	require.NoError(t, err)
	report, err := audit.Verify(strings.NewReader(export.text+"\n"), keys)
	require.NoError(t, err)
	require.EqualValues(t, len(before)+len(log), report.Entries, "the export tells of itself")
	a.get(t, "/v1/audit?cursor=nonsense", bearer(root), unchecked()).refused(api.CodeInvalidCursor)
	a.get(t, "/v1/audit?limit=101", bearer(root), unchecked()).refused(api.CodeInvalidLimit)
}

// auditLog reads the whole log in small pages and checks that it is one chain.
func (a *rig) auditLog(t *testing.T, secret string) (log []api.AuditEntry) {
	t.Helper()
	last := &journal.Entry{}
	for query := "?limit=3"; ; {
		got := a.get(t, "/v1/audit"+query, bearer(secret)).want(http.StatusOK)
		var page api.AuditList
		require.NoError(t, json.Unmarshal([]byte(got.text), &page))
		require.LessOrEqual(t, len(page.Data), 3)
		for _, entry := range page.Data {
			require.Equal(t, last.Hash, entry.Prev)
			var event api.AuditEvent
			require.NoError(t, json.Unmarshal(entry.Event, &event))
			next := &journal.Entry{
				EntryID: last.EntryID + 1, TimestampMs: entry.TimestampMs, Type: event.Type, Actor: entry.Actor, Body: entry.Event, BodyDigest: entry.BodyDigest, Prev: entry.Prev,
			}
			next.Hash = next.HashOf()
			require.Equal(t, next.View(), entry)
			last = next
		}
		log = append(log, page.Data...)
		if page.NextCursor == nil {
			return log
		}
		query = "?limit=3&cursor=" + url.QueryEscape(*page.NextCursor)
	}
}
