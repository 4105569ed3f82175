package timbal

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
)

// addWorkerEvent shows a worker's event (docs/spec/timbal.md#worker-events): a delta as DELTA,
// anything else under its type in upper case, with all its members. The service's own events about
// a run are not shown.
func (s *segment) addWorkerEvent(event *model.Event) {
	if event.Type == api.EventOutput {
		s.addText(event)
		return
	}
	if model.ByService(event.Type) {
		return
	}
	name := strings.ToUpper(string(event.Type))
	members := kit.ObjectOf(event.Body)
	switch name {
	case typeDelta:
		members = withItem(event, members)
	case typeStart, typeOutput, typeApproval, typeInteraction:
		// A worker must not be able to fake one of the service's events, such as a prompt or the
		// end.
		custom := kit.Encode(struct {
			ID   string   `json:"id"`
			Type string   `json:"type"`
			Data api.JSON `json:"data"`
		}{eventID(event), "custom", event.Body})
		name, members = typeDelta, kit.Object{kit.MemberOf("item", custom)}
	}
	s.addDocument(s.withHeader(name, members))
}

// addText shows a piece of output. It is not called OUTPUT, because that ends a stream.
func (s *segment) addText(event *model.Event) {
	var body struct {
		Output api.OutputRecord `json:"output"`
	}
	if kit.DecodeEvent(event, &body) != nil {
		return
	}
	item := kit.Encode(textItem{eventID(event), "text", body.Output.Content, body.Output.Parts})
	s.addDocument(s.withHeader(typeDelta, kit.Object{kit.MemberOf("item", item)}))
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

// withItem adds the item in which clients look for a delta's text, if the worker gave none. A
// redacted delta gets an empty one.
func withItem(event *model.Event, members kit.Object) kit.Object {
	text, found := "", false
	for _, member := range members {
		switch {
		case member.Name == "item":
			return members
		case member.Name == "text" && json.Unmarshal(member.Value, &text) == nil:
			found = true
		}
	}
	if !found && !event.Redacted() {
		return members
	}
	return append(members, kit.MemberOf("item", textDeltaItem{eventID(event), "text_delta", text}))
}

// withHeader adds the members of all events before a worker's members. The worker may override only
// the path and the calls.
func (s *segment) withHeader(name string, members kit.Object) api.JSON {
	head := s.header(name)
	var own kit.Object
	for _, member := range members {
		var text *string
		switch member.Name {
		case "type", "run_id", "parent_run_id":
			continue
		case "path", "call_id", "parent_call_id":
			if json.Unmarshal(member.Value, &text) != nil {
				continue
			}
			switch {
			case member.Name == "parent_call_id":
				head.ParentCallID = text
			case text == nil:
			case member.Name == "path":
				head.Path = *text
			default:
				head.CallID = *text
			}
		default:
			own = append(own, member)
		}
	}
	return encodeRaw(append(kit.ObjectOf(kit.Encode(head)), own...))
}

func eventID(event *model.Event) string { return strconv.FormatInt(event.EventID, 10) }
