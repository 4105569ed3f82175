package model

import (
	"bytes"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Masked is what is shown instead of a sensitive value.
var Masked = api.JSON(`{"sensitive":true}`)

// SealedValues are what is stored of the sensitive values of a request, in [Request.Sealed]. Each is
// encrypted under the data key of the run.
type SealedValues struct {
	// Callback is nil without one.
	Callback *SealedCallback `json:"callback,omitempty"`
	// Input is the whole input of an approval with sensitive paths.
	Input string `json:"input,omitempty"`
	// Decision is a SecretDecision: that of a settled request, or the partial answers so far.
	Decision string `json:"decision,omitempty"`
}

// SealedCallback is the callback of a request.
type SealedCallback struct {
	// Origin tells callbacks to different hosts apart; nothing can be read from it.
	Origin string `json:"origin"`
	// DataKey is its own, because what became of a run is posted after the key of the run was destroyed.
	DataKey string `json:"data_key"`
	// Sealed is an api.Callback.
	Sealed string `json:"sealed"`
}

// HasCallback reports whether what becomes of the request is to be posted.
func (r *Request) HasCallback() bool {
	return bytes.HasPrefix(r.Sealed, []byte(`{"callback":`)) // the first member, as SealedValues is written
}

// SecretDecision has the members of a resolution that a masked one does not show, whole.
type SecretDecision struct {
	UpdatedInput   api.JSON                 `json:"updated_input,omitzero"`
	Answers        []api.UserQuestionAnswer `json:"answers,omitempty"`
	Value          api.JSON                 `json:"value,omitzero"`
	RuntimePayload api.JSON                 `json:"runtime_payload,omitzero"`
}

// SealedValues returns the sealed values of the request; all are empty when it has none.
func (r *Request) SealedValues() SealedValues {
	var sealed SealedValues
	if r.Sealed != nil {
		document.DecodeStored(r.Sealed, &sealed)
	}
	return sealed
}

// Sensitive reports whether an answer to the question, or a part of it, is to be masked.
func Sensitive(question *api.UserQuestionRequest) bool {
	if question.Sensitive {
		return true
	}
	for i := range question.Questions {
		if question.Questions[i].Sensitive {
			return true
		}
	}
	return false
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
