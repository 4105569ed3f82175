package model

import (
	"bytes"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Masked replaces a sensitive value in views.
var Masked = api.JSON(`{"sensitive":true}`)

// SealedValues holds the sensitive values of a request, stored in [Request.Sealed]. Each is
// encrypted with the run's data key.
type SealedValues struct {
	// Callback is nil without one.
	Callback *SealedCallback `json:"callback,omitempty"`
	// Input is the whole input of an approval with sensitive paths.
	Input string `json:"input,omitempty"`
	// Decision is a SecretDecision: of a settled request, or with the partial answers so far.
	Decision string `json:"decision,omitempty"`
}

// SealedCallback is the callback of a request.
type SealedCallback struct {
	// Origin distinguishes callbacks to different hosts without revealing them.
	Origin string `json:"origin"`
	// DataKey is the callback's own, because the end of a run is posted after the run's key is
	// destroyed.
	DataKey string `json:"data_key"`
	// Sealed is an api.Callback.
	Sealed string `json:"sealed"`
}

// HasCallback reports whether the request has a callback to post its outcome to.
func (r *Request) HasCallback() bool {
	return bytes.HasPrefix(r.Sealed, []byte(`{"callback":`)) // the first member that SealedValues writes
}

// SecretDecision has the unmasked members of a resolution.
type SecretDecision struct {
	UpdatedInput   api.JSON                 `json:"updated_input,omitzero"`
	Answers        []api.UserQuestionAnswer `json:"answers,omitempty"`
	Value          api.JSON                 `json:"value,omitzero"`
	RuntimePayload api.JSON                 `json:"runtime_payload,omitzero"`
}

// SealedValues returns the sealed values of the request; all are empty if it has none.
func (r *Request) SealedValues() SealedValues {
	var sealed SealedValues
	if r.Sealed != nil {
		document.DecodeStored(r.Sealed, &sealed)
	}
	return sealed
}

// Sensitive reports whether any part of the answer to the question must be masked.
func Sensitive(question *api.UserQuestionRequest) bool {
	return question.Sensitive || slices.ContainsFunc(question.Questions, func(asked api.UserQuestion) bool { return asked.Sensitive })
}

// MaskAnswers returns the answers without those to sensitive questions.
func MaskAnswers(question *api.UserQuestionRequest, answers []api.UserQuestionAnswer) []api.UserQuestionAnswer {
	if answers == nil {
		return nil
	}
	masked := make([]api.UserQuestionAnswer, len(answers))
	copy(masked, answers)
	for i := range masked {
		for n := range question.Questions {
			if asked := &question.Questions[n]; asked.ID == masked[i].QuestionID && (asked.Sensitive || question.Sensitive) {
				masked[i] = api.UserQuestionAnswer{QuestionID: asked.ID, Sensitive: true}
			}
		}
	}
	return masked
}
