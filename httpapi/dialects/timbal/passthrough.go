package timbal

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// passThrough shows what a worker appended: a delta as DELTA, anything else under its
// own type in upper case, with all its members. What the service itself writes about a
// run is not shown.
func (s *segment) passThrough(event *model.Event) {
	if event.Type == api.EventOutput {
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
		custom := encoded(struct {
			ID   string   `json:"id"`
			Type string   `json:"type"`
			Data api.JSON `json:"data"`
		}{eventID(event), "custom", event.Body})
		name, members = typeDelta, []entry{{"item", custom}}
	}
	s.addDocument(s.dressed(name, members))
}

// ownType reports whether the service writes events of that type.
func ownType(eventType api.EventType) bool {
	//exhaustive:ignore
	switch eventType {
	case api.EventAccepted, api.EventQueued, api.EventStarted, api.EventParentClarificationRequested,
		api.EventWaitingForApproval, api.EventWaitingForUserQuestion:
		return true
	default:
		return model.AboutRequest(eventType)
	}
}

// addText shows a piece of output. It is not called OUTPUT, because that is how a
// stream ends.
func (s *segment) addText(event *model.Event) {
	var body struct {
		Output api.OutputRecord `json:"output"`
	}
	if readLogged(event, &body) != nil {
		return
	}
	item := encoded(textItem{eventID(event), "text", body.Output.Content, body.Output.Parts})
	s.addDocument(s.dressed(typeDelta, []entry{{"item", item}}))
}

type textItem struct {
	ID    string     `json:"id"`
	Type  string     `json:"type"`
	Text  string     `json:"text"`
	Parts []api.JSON `json:"parts,omitempty"`
}

type textDeltaItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	TextDelta string `json:"text_delta"`
}

// withItem gives a delta of text the item in which clients look for it, when the worker
// has given none.
func withItem(event *model.Event, members []entry) []entry {
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
	return append(members, entry{"item", encoded(textDeltaItem{eventID(event), "text_delta", text})})
}

// dressed puts the members that all events have around a worker's. A worker may name
// the path and the call, and nothing else of them.
func (s *segment) dressed(name string, members []entry) api.JSON {
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
	object := objectOf(append(membersOf(encoded(head)), own...))
	if compact, err := document.Compact(object); err == nil {
		return compact
	}
	return object
}

func eventID(event *model.Event) string { return strconv.FormatInt(event.EventID, 10) }
