package api

// AnswerPurpose is the "typ" of a signed answer's JWS.
const AnswerPurpose = "holdpoint-answer+jwt"

// AnswerClaims are the claims of an [AnswerForWorker]'s signature.
type AnswerClaims struct {
	// Iss is the service's external URL, or "holdpoint".
	Iss string `json:"iss"`
	// Aud is the run's agent, Sub the run.
	Aud       string `json:"aud"`
	Sub       string `json:"sub"`
	RequestID string `json:"request_id"`
	// AnswersDigest is "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of
	// [SignedAnswers], with sensitive values in clear.
	AnswersDigest string `json:"answers_digest"`
	// Fence is the claim's fence as decimal text.
	Fence string `json:"fence"`
	// Iat and Exp are in seconds since the epoch. Exp is the end of the lease at the time of
	// signing.
	Iat int64 `json:"iat"`
	Exp int64 `json:"exp"`
	// JTI is the handle of the question.
	JTI string `json:"jti"`
	// ResolvedBy is the principal that answered.
	ResolvedBy string `json:"resolved_by"`
}

// SignedAnswers are the members of an [AnswerForWorker] that its signature covers. The answers
// include the texts of the questions and of the selected options, so an answer to other words has
// another digest.
type SignedAnswers struct {
	Answers []LabelledAnswer `json:"answers"`
	Value   JSON             `json:"value,omitzero"`
}

// Signed returns what the signature covers.
func (a *AnswerForWorker) Signed() SignedAnswers { return SignedAnswers{a.Answers, a.Value} }
