package faces

import (
	"context"
	"slices"
)

// Kind is the kind of a prompt, as far as faces distinguish kinds.
type Kind string

// Kinds of prompts.
const (
	Approval Kind = "approval"
	// Choice is one structured question, Several are two in one request.
	Choice  Kind = "choice"
	Several Kind = "several"
	// Typed is a question for one value that a JSON Schema describes.
	Typed Kind = "typed"
	// Clarification is a Choice asked by a child's session.
	Clarification Kind = "clarification"
)

// Prompt is a request of a run, on any face.
type Prompt struct {
	Kind                                Kind
	SessionID, RunID, RequestID, Handle string
	// Input is an approval's input, as JSON. For a clarification the question is the input of its
	// run.
	Input string
}

// Verb is a decision, independent of the faces' words (the vocabulary table).
type Verb string

// The verbs. The first five are for approvals, Stop for everything, the rest for questions.
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

// Decision is a decision about a prompt.
type Decision struct {
	Verb Verb
	// Reason is the reason of a Deny or a Stop, on faces with reasons.
	Reason string
	// Edit holds the input members that an AllowEdited changes.
	Edit map[string]any
	// Answers are texts, one for each question.
	Answers []string
}

// Face is a client of one API.
type Face interface {
	Name() string
	// Verbs returns the decisions that this face offers for a kind of prompt.
	Verbs(kind Kind) []Verb
	// Decide makes a decision and returns the last reply. Errors: network errors only.
	Decide(ctx context.Context, s *Service, about Prompt, what Decision, options ...Option) (Reply, error)
	// Took reports whether a reply means that the decision was recorded.
	Took(reply Reply) bool
	// Open returns the handles of the prompts that are shown as open next to a prompt. A face that
	// shows one at a time returns only that one.
	Open(ctx context.Context, s *Service, about Prompt) ([]string, error)
}

// All returns every face that can decide. /v1 appears twice, because decisions go by run or by
// session.
func All() []Face {
	return []Face{Native{}, Native{BySession: true}, Hermes{}, Codex{}, Timbal{}, Relay{}}
}

// Can reports whether a face offers a decision for a kind of prompt.
func Can(face Face, kind Kind, verb Verb) bool { return slices.Contains(face.Verbs(kind), verb) }

// questions returns the question ids of a kind of prompt.
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

// options are the labels of the question "way", with their option ids.
var options = map[string]string{"Left": "left", "Right": "right"}
