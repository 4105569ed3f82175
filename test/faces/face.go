package faces

import (
	"context"
	"slices"
)

// Kind is what a prompt asks for, as far as faces tell that apart.
type Kind string

// The kinds of prompts.
const (
	Approval Kind = "approval"
	// Choice is one structured question, Several two of them in one request.
	Choice  Kind = "choice"
	Several Kind = "several"
	// Typed is a question for one value of a JSON Schema.
	Typed Kind = "typed"
	// Clarification is a Choice that the session of a child asks.
	Clarification Kind = "clarification"
)

// Prompt is a request of a run, wherever it is shown.
type Prompt struct {
	Kind                                Kind
	SessionID, RunID, RequestID, Handle string
	// Input is that of an approval, as JSON; the run of a clarification has the question
	// for its input.
	Input string
}

// Verb is a decision in the words of no face (the vocabulary table of the contracts).
type Verb string

// The verbs. The first five are about approvals, Stop about anything, the rest about
// questions.
const (
	AllowOnce    Verb = "allow once"
	AllowSession Verb = "allow for the session"
	AllowAlways  Verb = "allow always"
	AllowEdited  Verb = "allow edited"
	Deny         Verb = "deny"
	Stop         Verb = "stop"
	Answer       Verb = "answer"
	Decline      Verb = "decline"
)

// Decision is what somebody decides about a prompt.
type Decision struct {
	Verb Verb
	// Reason is given with a Deny and a Stop, where the face takes one.
	Reason string
	// Edit holds members of the input that an AllowEdited changes.
	Edit map[string]any
	// Answers are texts, one for each question of the prompt.
	Answers []string
}

// Face is one wire contract, spoken by a client.
type Face interface {
	Name() string
	// Verbs are what can be said here about a kind of prompt.
	Verbs(kind Kind) []Verb
	// Decide says it, and returns the last reply. Errors: none but those of the network.
	Decide(ctx context.Context, s *Service, about Prompt, what Decision, options ...Option) (Reply, error)
	// Took reports whether a reply says that a decision was taken.
	Took(reply Reply) bool
	// Open returns the handles that are shown as open where a prompt is shown. A face
	// that shows one at a time returns that one.
	Open(ctx context.Context, s *Service, about Prompt) ([]string, error)
}

// All returns every face at which somebody can decide. /v1 is two of them, because it
// has two ways: by the run and by the session.
func All() []Face {
	return []Face{Native{}, Native{BySession: true}, Hermes{}, Codex{}, Timbal{}, Relay{}}
}

// Can reports whether a face has words for a decision about a kind of prompt.
func Can(face Face, kind Kind, verb Verb) bool { return slices.Contains(face.Verbs(kind), verb) }

// questions returns the ids of the questions that a kind of prompt asks.
func (k Kind) questions() []string {
	switch k {
	case Several:
		return []string{"way", "notes"}
	case Choice, Clarification:
		return []string{"way"}
	case Approval, Typed:
	}
	return nil
}

// options are the labels of the question "way", by the ids of its options.
var options = map[string]string{"Left": "left", "Right": "right"}
