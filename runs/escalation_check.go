package runs

import (
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Prefixes of selectors.
const (
	SelectUser  = "user:"
	SelectGroup = "group:"
	SelectRole  = "role:"
	// SelectOnCall selects those whom an on-call source of the service names.
	SelectOnCall = "oncall:"
)

// checkSteps adds the faults of the steps of an escalation.
func checkSteps(e *api.Escalation, at string, faults *refusal.Faults) {
	faults.Text(at+"/calendar", e.Calendar, api.MaxNameLength)
	if e.Calendar != "" && len(e.Steps) == 0 {
		faults.Add(at+"/calendar", "needs steps")
	}
	if len(e.Steps) > api.MaxEscalationSteps {
		faults.Add(at+"/steps", "must have at most %d entries", api.MaxEscalationSteps)
		return
	}
	for i := range e.Steps {
		here := fmt.Sprintf("%s/steps/%d", at, i)
		checkStep(&e.Steps[i], here, faults)
		if i > 0 && e.Steps[i].AfterMs < e.Steps[i-1].AfterMs {
			faults.Add(here+"/after_ms", "must not be before the step above")
		}
	}
}

func checkStep(step *api.EscalationStep, at string, faults *refusal.Faults) {
	if step.AfterMs < 0 || step.AfterMs > api.MaxEscalationAfterMs {
		faults.Add(at+"/after_ms", "must be 0 to %d", int64(api.MaxEscalationAfterMs))
	}
	if step.EveryMs != 0 && (step.EveryMs < api.MinEscalationEveryMs || step.EveryMs > api.MaxEscalationAfterMs) {
		faults.Add(at+"/every_ms", "must be %d to %d", int64(api.MinEscalationEveryMs), int64(api.MaxEscalationAfterMs))
	}
	switch {
	case step.Times < 0 || step.Times > api.MaxEscalationMessages:
		faults.Add(at+"/times", "must be 1 to %d", api.MaxEscalationMessages)
	case step.Times > 1 && step.EveryMs == 0:
		faults.Add(at+"/times", "needs every_ms")
	}
	if len(step.Notify) == 0 || len(step.Notify) > api.MaxSelectors {
		faults.Add(at+"/notify", "must have 1 to %d entries", api.MaxSelectors)
	} else {
		checkSelectors(step.Notify, at+"/notify", faults)
	}
	if len(step.AlsoFrom) > api.MaxSelectors {
		faults.Add(at+"/also_from", "must have at most %d entries", api.MaxSelectors)
	} else {
		checkSelectors(step.AlsoFrom, at+"/also_from", faults)
	}
}

func checkSelectors(selectors []string, at string, faults *refusal.Faults) {
	for i, selector := range selectors {
		if here := fmt.Sprintf("%s/%d", at, i); !validSelector(selector) {
			faults.Add(here, "must be user:NAME, group:NAME, role:operator, role:admin or oncall:NAME")
		} else {
			faults.Text(here, selector, api.MaxSelectorLength)
		}
	}
}

func validSelector(selector string) bool {
	switch selector {
	case SelectRole + string(api.RoleOperator), SelectRole + string(api.RoleAdmin):
		return true
	}
	for _, prefix := range []string{SelectUser, SelectGroup, SelectOnCall} {
		if name, is := strings.CutPrefix(selector, prefix); is {
			return strings.TrimSpace(name) != ""
		}
	}
	return false
}
