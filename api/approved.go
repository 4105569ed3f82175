package api

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Approval returns the approval with a request id; nil if the decisions do not include it.
func (r *Resume) Approval(requestID string) *SettledApproval {
	for i := range r.Approvals {
		if r.Approvals[i].Request.ID == requestID {
			return &r.Approvals[i]
		}
	}
	return nil
}

// Question returns the question request with an id; nil if the decisions do not include it.
func (r *Resume) Question(requestID string) *SettledQuestion {
	for i := range r.Questions {
		if r.Questions[i].Request.ID == requestID {
			return &r.Questions[i]
		}
	}
	return nil
}

// Approved decodes the input that may run, with the approver's edits, into the value that into
// points to, as [json.Unmarshal] does. Struct tags of other JSON packages have no effect. It
// replaces the whole value, and leaves it unchanged on an error. The error is a [NotAllowedError] if
// the approval was denied or has expired. It is another error if no approval has this request id, or
// the input does not fit the value. A worker's handler that returns a NotAllowedError fails the run
// without a retry.
func (r *Resume) Approved(requestID string, into any) error {
	settled := r.Approval(requestID)
	if settled == nil {
		return fmt.Errorf("no decision about an approval %q", requestID)
	}
	return settled.Approved(into)
}

// AllowedInput returns the input that may run: the approver's, or else that of the request. It
// returns nil unless the approval was allowed.
func (s *SettledApproval) AllowedInput() JSON {
	switch {
	case s.Resolution.Outcome != OutcomeAllowed || s.Resolution.Behavior != BehaviorAllow:
		return nil
	case s.Resolution.UpdatedInput != nil:
		return s.Resolution.UpdatedInput
	}
	return s.Request.Input
}

// Approved is [Resume.Approved] for one approval.
func (s *SettledApproval) Approved(into any) error {
	input := s.AllowedInput()
	if input == nil {
		return &NotAllowedError{Tool: s.Request.ToolName, Resolution: s.Resolution}
	}
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decode the approved input of %s: into must be a pointer, not %T", s.Request.ToolName, into)
	}
	// A new value: a member that the approver removed must not keep its earlier value.
	decoded := reflect.New(target.Type().Elem())
	if err := json.Unmarshal(input, decoded.Interface()); err != nil {
		return fmt.Errorf("decode the approved input of %s: %w", s.Request.ToolName, err)
	}
	target.Elem().Set(decoded.Elem())
	return nil
}

// NotAllowedError says that an approval was settled and does not allow its call.
type NotAllowedError struct {
	Tool       string
	Resolution Resolution
}

// Error names the tool, the outcome, who decided and why.
func (e *NotAllowedError) Error() string {
	text := fmt.Sprintf("%s was not allowed: %s", e.Tool, e.Resolution.Outcome)
	if e.Resolution.Outcome == OutcomeDenied && e.Resolution.ResolvedBy != "" {
		text += " by " + e.Resolution.ResolvedBy
	}
	if e.Resolution.Reason != "" {
		text += ": " + e.Resolution.Reason
	}
	return text
}
