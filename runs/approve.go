package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ResolveApprovals decides open approvals of one run, all or none. If RunID is empty, the run is
// the active run of SessionID, or the session's call that has the approval open.
//
// Reply: Run, or Replayed. Errors: invalid_request, invalid_idempotency_key, and the errors in
// docs/spec/v1.md#order-for-approvals, in that order.
type ResolveApprovals struct {
	SessionID   string
	RunID       string
	Resolutions []ApprovalDecision
	// MaxRuleAgeMs caps the lifetime of rules that the decisions write; 0 for no cap. It is a
	// service setting and not part of the call.
	MaxRuleAgeMs int64
	Key          string
	Actor        Actor

	canonical []byte
	// bounded is as in resolution.
	bounded bool
	checkedValues
}

// approvalsBody is the body that a keyed call's fingerprint covers.
type approvalsBody struct {
	Resolutions []ApprovalDecision `json:"resolutions"`
}

func (c *ResolveApprovals) resolution() *resolution {
	return &resolution{
		sessionID: c.SessionID, runID: c.RunID, bounded: c.bounded, approvals: c.Resolutions, approvalsAt: "/resolutions",
		operation: model.OperationApproval, key: c.Key, canonical: c.canonical, actor: c.Actor, checked: &c.checkedValues,
	}
}

// Spec implements Command.
func (c *ResolveApprovals) Spec() Spec {
	return Spec{
		Name: "ResolveApprovals", Actions: actionsOfDecisions(c.Resolutions), Target: TargetNamed, Actor: c.Actor.Name, Settles: true,
		size: Size{}.withDecisions(c.Resolutions), values: c.resolution(), checked: &c.checkedValues, above: &c.above, runID: &c.RunID,
	}
}

// Needs implements Command.
func (c *ResolveApprovals) Needs() Needs { return c.resolution().needs() }

func (c *ResolveApprovals) prepare(call *Call, newID IDSource) error {
	c.Actor.prepare()
	c.sealer, c.bounded = call.Sealer, call.bounded()
	var faults refusal.Faults
	if c.Resolutions == nil {
		faults.Add("/resolutions", "is required")
	}
	prepareApprovals(c.Resolutions, "/resolutions", c.MaxRuleAgeMs, newID, &faults)
	if err := cmp.Or(faults.Err(), prepareKey(&c.Key)); err != nil || c.Key == "" {
		return err
	}
	var err error
	c.canonical, err = canonicalBody(approvalsBody{c.Resolutions})
	c.prepareKeyed(c.canonical)
	return err
}

func (c *ResolveApprovals) decide(w *workingCopy) (Reply, error) { return c.resolution().decide(w) }
