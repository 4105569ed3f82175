package audit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func TestEntriesNameTheirSubject(t *testing.T) {
	t.Parallel()
	for want, event := range map[string]api.AuditEvent{
		"address-1 mail":           {Type: api.AuditAddressAdded, AddressID: "address-1", Channel: "mail"},
		"user:ada address-1 slack": {Type: api.AuditAddressRemoved, Principal: "user:ada", AddressID: "address-1", Channel: "slack"},
		"token-1 laptop agent ada": {Type: api.AuditTokenCreated, TokenID: "token-1", Name: "laptop", Role: api.RoleAgent, OnBehalfOf: "ada"},
		"t chat operator service:chat (may act for others) (may write rules of all sessions)": {
			Type: api.AuditTokenCreated, TokenID: "t", Name: "chat", Role: api.RoleOperator, Principal: "service:chat", MayActFor: true, MayAlways: true,
		},
		"rule-1 s allow Allow bash.": {Type: api.AuditRuleCreated, RuleID: "rule-1", SessionID: "s", Effect: api.RuleAllow, Text: "Allow bash."},
	} {
		require.Equal(t, want, aboutEntry(&event))
	}
}
