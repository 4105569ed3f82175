package timbal

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/runs"
)

// passThrough shows what a worker appended: a delta as DELTA, anything else under its
// own type in upper case, with all its members. What the service itself writes about a
// run is not shown.
func (s *segment) passThrough(event *runs.Event) {
	if event.Type == runs.EventOutput {
		s.addText(event)
		return
	}
	if ownType(event.Type) {
		return
	}
	name := strings.ToUpper(string(event.Type))
	members := membersOf(event.Body)
	switch name {
	case typeDelta:
		members = withItem(event, members)
	case typeStart, typeOutput, typeApproval, typeInteraction:
		// A worker's event must not be taken for one of the service's: a prompt that is
		// none, or an end.
		custom := document(struct {
			ID   string    `json:"id"`
			Type string    `json:"type"`
			Data runs.JSON `json:"data"`
		}{eventID(event), "custom", event.Body})
		name, members = typeDelta, []entry{{"item", custom}}
	}
	s.addDocument(s.dressed(name, members))
}

// ownType reports whether the service writes events of that type.
func ownType(eventType runs.EventType) bool {
	//exhaustive:ignore
	switch eventType {
	case runs.EventAccepted, runs.EventQueued, runs.EventStarted, runs.EventParentClarificationRequested,
		runs.EventWaitingForApproval, runs.EventWaitingForUserQuestion:
		return true
	default:
		return runs.AboutRequest(eventType)
	}
}

// addText shows a piece of output. It is not called OUTPUT, because that is how a
// stream ends.
func (s *segment) addText(event *runs.Event) {
	var body struct {
		Output runs.OutputRecord `json:"output"`
	}
	if readLogged(event, &body) != nil {
		return
	}
	item := document(textItem{eventID(event), "text", body.Output.Content, body.Output.Parts})
	s.addDocument(s.dressed(typeDelta, []entry{{"item", item}}))
}

type textItem struct {
	ID    string      `json:"id"`
	Type  string      `json:"type"`
	Text  string      `json:"text"`
	Parts []runs.JSON `json:"parts,omitempty"`
}

type textDeltaItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	TextDelta string `json:"text_delta"`
}

// withItem gives a delta of text the item in which clients look for it, when the worker
// has given none.
func withItem(event *runs.Event, members []entry) []entry {
	text, found := "", false
	for _, member := range members {
		switch {
		case member.id == "item":
			return members
		case member.id == "text" && json.Unmarshal(member.value, &text) == nil:
			found = true
		}
	}
	if !found {
		return members
	}
	return append(members, entry{"item", document(textDeltaItem{eventID(event), "text_delta", text})})
}

// dressed puts the members that all events have around a worker's. A worker may name
// the path and the call, and nothing else of them.
func (s *segment) dressed(name string, members []entry) runs.JSON {
	head := s.header(name)
	var own []entry
	for _, member := range members {
		var text *string
		switch member.id {
		case "type", "run_id", "parent_run_id":
			continue
		case "path", "call_id", "parent_call_id":
			if json.Unmarshal(member.value, &text) != nil {
				continue
			}
			switch {
			case member.id == "parent_call_id":
				head.ParentCallID = text
			case text == nil:
			case member.id == "path":
				head.Path = *text
			default:
				head.CallID = *text
			}
		default:
			own = append(own, member)
		}
	}
	object := objectOf(append(membersOf(document(head)), own...))
	if compact, err := runs.CompactJSON(object); err == nil {
		return compact
	}
	return object
}

func eventID(event *runs.Event) string { return strconv.FormatInt(event.EventID, 10) }
