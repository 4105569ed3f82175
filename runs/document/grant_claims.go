package document

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// GrantClaims returns the claims of an allowed approval's grant, without issuer and issue time. The
// settled approval must contain its sensitive values in clear, as the holder of the fence sees it.
// Errors: an input without a canonical form.
func GrantClaims(settled *api.SettledApproval, grant *api.Grant, runID, agentID, fence string) (api.GrantClaims, error) {
	digest, err := digestThatRuns(settled)
	claims := api.GrantClaims{
		Aud: agentID, Sub: runID, RequestID: settled.Request.ID, ToolName: settled.Request.ToolName, InputDigest: digest,
		Fence: fence, Exp: grant.Exp, JTI: grant.JTI, ResolvedBy: settled.Resolution.ResolvedBy,
	}
	if rule := settled.Resolution.Rule; rule != nil && strings.HasPrefix(settled.Resolution.Via, api.ViaRule) {
		claims.RuleID = rule.RuleID
	}
	return claims, err
}

// digestThatRuns returns the digest of the allowed input. Views of a sensitive input show a keyed
// digest; the grant has the plain digest, because the holder of the fence knows the values.
func digestThatRuns(settled *api.SettledApproval) (string, error) {
	switch {
	case settled.Resolution.UpdatedInput != nil:
		return Digest(settled.Resolution.UpdatedInput)
	case strings.HasPrefix(settled.Request.InputDigest, KeyedDigestPrefix):
		return Digest(settled.Request.Input)
	}
	return settled.Request.InputDigest, nil
}
