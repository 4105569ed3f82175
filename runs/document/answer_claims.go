package document

import "github.com/holdpoint/holdpoint/api"

// AnswerClaims returns the claims of an answered question's signature, without issuer and times. The
// settled question must contain its sensitive values in clear, as the holder of the fence sees it.
// Errors: an answer without a canonical form.
func AnswerClaims(settled *api.SettledQuestion, runID, agentID, fence string) (api.AnswerClaims, error) {
	digest, err := Digest(Encode(settled.Resolution.Signed()))
	return api.AnswerClaims{
		Aud: agentID, Sub: runID, RequestID: settled.Resolution.RequestID, AnswersDigest: digest,
		Fence: fence, JTI: settled.Request.Handle, ResolvedBy: settled.Resolution.ResolvedBy,
	}, err
}
