package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// Sentinel errors for [VerifyAnswer].
var (
	// ErrAnswerInvalid: the service did not sign this answer.
	ErrAnswerInvalid = errors.New("no answer that the service signed")
	// ErrAnswerExpired: the lease that it was signed for has expired.
	ErrAnswerExpired = errors.New("the signature of the answer has expired")
)

// VerifyAnswer verifies offline that the service signed the answers of a resolution, which the
// holder of the fence received, and returns the claims. Compare Sub and RequestID with your run
// and request. Answers and Value are covered, with the texts of the questions and of the selected
// options, and so is ResolvedBy; Summary, Justification and RuntimePayload are not. Get the keys
// from [Client.Keys].
//
// Errors: [ErrAnswerInvalid]; [ErrAnswerExpired].
func VerifyAnswer(keys api.KeySet, resolution *api.AnswerForWorker) (*api.AnswerClaims, error) {
	payload, err := verifyJWS(keys, api.AnswerPurpose, resolution.Signature)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswerInvalid, err)
	}
	var claims api.AnswerClaims
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil, fmt.Errorf("%w: its claims cannot be read", ErrAnswerInvalid)
	}
	digest, err := InputDigest(resolution.Signed())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswerInvalid, err)
	}
	switch {
	case claims.Exp <= time.Now().Unix():
		return nil, fmt.Errorf("%w: at %s", ErrAnswerExpired, time.Unix(claims.Exp, 0).UTC().Format(time.RFC3339))
	case resolution.Outcome != api.OutcomeAnswered || claims.RequestID != resolution.RequestID || claims.ResolvedBy != resolution.ResolvedBy:
		return nil, fmt.Errorf("%w: it is for request %q, answered by %q", ErrAnswerInvalid, claims.RequestID, claims.ResolvedBy)
	case claims.AnswersDigest != digest:
		return nil, fmt.Errorf("%w: it is for answers with the digest %s", ErrAnswerInvalid, claims.AnswersDigest)
	}
	return &claims, nil
}
