package rules

import (
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// EscalationText returns the escalation as compact JSON, or "" for none.
func (r *Rule) EscalationText() string {
	if r.Escalation == nil {
		return ""
	}
	return string(document.Encode(r.Escalation))
}

// shownNotified bounds the selectors in a rule's text.
const shownNotified = 3

// shownEscalation describes the escalation, with a leading space; "" for none.
func (r *Rule) shownEscalation() string {
	e := r.Escalation
	switch {
	case e == nil:
		return ""
	case e.Name != "":
		return " People are notified by the escalation " + quoted(e.Name) + "."
	}
	var text string
	if len(e.Steps) > 0 {
		first := e.Steps[0].Notify
		shown := make([]string, 0, shownNotified)
		for _, selector := range first[:min(len(first), shownNotified)] {
			shown = append(shown, quoted(selector))
		}
		text = " People are notified in 1 step: "
		if len(e.Steps) > 1 {
			text = fmt.Sprintf(" People are notified in %d steps, first ", len(e.Steps))
		}
		text += strings.Join(shown, ", ")
		if more := len(first) - len(shown); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		text += "."
	}
	if e.AtDeadline == api.DeadlineKeep {
		text += " The request stays open after its deadline."
	}
	return text
}
