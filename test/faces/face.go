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
	// Name is for the names of tests. A test that treats a face differently asks for its Traits.
	Name() string
	Traits() Traits
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

// Traits are how faces differ.
type Traits struct {
	// Via is the recorded via of its decisions.
	Via string
	// InChat says that prompts are shown only on the stream of the chat that started their run.
	InChat bool
	// OldestOnly says that of each kind of prompt only the oldest is shown.
	OldestOnly bool
	// InParts says that the remaining questions of a prompt can be answered one by one.
	InParts bool
	// AlwaysForever says that the rule of an AllowAlways never expires.
	AlwaysForever bool
	// AnySession says that a call names a prompt without its session.
	AnySession bool
	// Repeats says that repeating the recorded answer to a clarification succeeds.
	Repeats bool
	// DenyReason and StopReason say that the face accepts a reason with the verb.
	DenyReason, StopReason bool
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
