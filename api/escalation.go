package api

// Limits of escalations.
const (
	// MaxEscalationSteps is the maximum number of steps of an escalation, and MaxSelectors of the entries
	// of Notify and of AlsoFrom of a step, each with at most MaxSelectorLength bytes.
	MaxEscalationSteps = 16
	MaxSelectors       = 32
	MaxSelectorLength  = 256
	// MaxEscalationAfterMs bounds AfterMs and EveryMs.
	MaxEscalationAfterMs = 366 * 86_400_000
	// MinEscalationEveryMs is the shortest time between two notifications by one step.
	MinEscalationEveryMs = 300_000
	// MaxEscalationMessages is the maximum number of messages about one request, to all people
	// together.
	MaxEscalationMessages = 100
	// MaxRuleEscalationBytes is the maximum length of the escalation of a rule, as compact JSON.
	MaxRuleEscalationBytes = 4096
)

// Escalation says what happens while a request is open: who is notified when, and what its deadline
// does. Without steps, everyone who may decide is notified once.
type Escalation struct {
	_ struct{} `body:"closed"`
	// Name is the name of an escalation of the service, of which the request gets a copy. A request that
	// names one must have no other member here.
	Name string `json:"name,omitempty" body:"filled"`
	// Calendar is the name of a calendar of the service, whose working time counts for the steps. Without
	// it, all time counts.
	Calendar string `json:"calendar,omitempty" body:"filled"`
	// Steps has at most MaxEscalationSteps, in the order of AfterMs.
	Steps []EscalationStep `json:"steps,omitempty"`
	// AtDeadline is what the deadline does; empty for the default of the kind of request.
	AtDeadline DeadlineAction `json:"at_deadline,omitempty" body:"filled"`
	// DefaultAnswer is recorded by DeadlineAnswer, and only given with it.
	DefaultAnswer *DefaultAnswer `json:"default_answer,omitempty"`
	// ByRule names the standing rule that the escalation comes from. The service sets it.
	ByRule *EscalationRule `json:"by_rule,omitempty"`
}

// EscalationRule is the standing rule whose escalation a request has, instead of its own.
type EscalationRule struct {
	RuleID string `json:"rule_id" body:"required"`
	// MissingName is the escalation that the rule names if the service did not have it when the request
	// was raised. The default escalation applies instead.
	MissingName string `json:"missing_name,omitempty"`
}

// EscalationStep notifies people while a request is open.
type EscalationStep struct {
	_ struct{} `body:"closed"`
	// AfterMs counts from when the request was raised.
	AfterMs int64 `json:"after_ms"`
	// Notify selects people among those who may decide: "user:NAME", "group:NAME", "role:operator",
	// "role:admin", or "oncall:NAME" for those whom an on-call source of the service names.
	Notify []string `json:"notify" body:"required"`
	// AlsoFrom selects people who may decide as well from the moment the step is done, with the selectors
	// of Notify. It grants neither a role nor reach: an agent raises the escalation, and must not be able
	// to hand out rights. It does not lift ExcludeRequester. Requests cannot name their deciders yet, so
	// AlsoFrom adds nobody.
	AlsoFrom []string `json:"also_from,omitempty"`
	// EveryMs repeats the step, at least MinEscalationEveryMs; 0 for never. Times is how often it
	// notifies in all; when 0, until the request is settled or has MaxEscalationMessages.
	EveryMs int64 `json:"every_ms,omitzero"`
	Times   int64 `json:"times,omitzero"`
	// Urgent ignores the calendar and quiet hours.
	Urgent bool `json:"urgent,omitzero"`
}

// DeadlineAction is what the deadline of a request does. Its outcome is expired. None ever allows.
type DeadlineAction string

// The actions of deadlines.
const (
	// DeadlineDeny denies an approval, and the run continues. The default of approvals.
	DeadlineDeny DeadlineAction = "deny"
	// DeadlineCancelRun cancels the run of a question. The default of questions.
	DeadlineCancelRun DeadlineAction = "cancel_run"
	// DeadlineDecline declines a question, and the run continues.
	DeadlineDecline DeadlineAction = "decline"
	// DeadlineAnswer records DefaultAnswer for a question, and the run continues.
	DeadlineAnswer DeadlineAction = "answer"
	// DeadlineKeep leaves the request open. People may still decide.
	DeadlineKeep DeadlineAction = "keep"
)

// DefaultAnswer is the answer to a question that nobody answered in time. It must be a valid answer.
type DefaultAnswer struct {
	_ struct{} `body:"closed"`
	// Answers answer structured questions, and Value a typed one.
	Answers []UserQuestionAnswer `json:"answers,omitempty"`
	Value   JSON                 `json:"value,omitzero"`
}
