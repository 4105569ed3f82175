package relay

import (
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// origin says whose frame it is. A worker that runs agents of its own inside of a run
// names them in its events, and in the metadata of its requests.
type origin struct {
	runID, agentID string
	parentID       string // empty for the agent that the chat is for
}

func (o origin) members() object {
	members := object{{"runId", textValue(o.runID)}, {"agentId", textValue(o.agentID)}}
	if o.parentID != "" {
		members = append(members, member{"parentId", textValue(o.parentID)})
	}
	return members
}

// own is the origin of what the run itself does.
func (t *teller) own(event *model.Event) origin {
	return origin{runID: event.RunID, agentID: event.AgentID}
}

// from is the origin of a request, by its metadata.
func (t *teller) from(event *model.Event, metadata api.JSON) origin {
	named := t.own(event)
	if members, err := objectOf(metadata); err == nil {
		named.take(members)
	}
	return named
}

// Names under which a worker may give a member, the frame's own name first.
var (
	runIDNames        = []string{"runId", "run_id"}
	agentIDNames      = []string{"agentId", "agent_id"}
	parentIDNames     = []string{"parentId", "parent_id"}
	contentNames      = []string{"content", "text", "delta"}
	callIDNames       = []string{"id", "toolCallId", "tool_call_id"}
	toolNames         = []string{"name", "tool", "tool_name"}
	inputNames        = []string{"input", "params", "arguments"}
	outputNames       = []string{"output", "result", "content"}
	inputTokensNames  = []string{"inputTokens", "input_tokens"}
	outputTokensNames = []string{"outputTokens", "output_tokens"}
	messageNames      = []string{"message", "error"}
)

// take takes over what an object says of its origin, and returns the names that it
// said it under.
func (o *origin) take(members object) (used []string) {
	for _, part := range []struct {
		names []string
		into  *string
	}{{runIDNames, &o.runID}, {agentIDNames, &o.agentID}, {parentIDNames, &o.parentID}} {
		for _, name := range part.names {
			if text, ok := textOf(members.get(name)); ok && text != "" {
				*part.into, used = text, append(used, name)
				break
			}
		}
	}
	return used
}

// wanted is a member that a frame must have.
type wanted struct {
	names []string
	// missing stands for a member that the worker did not give.
	missing api.JSON
}

var (
	null      = api.JSON("null")
	emptyText = api.JSON(`""`)
	zero      = api.JSON("0")
)

// shapes are the members of a worker's frames (llm-gateway.md 5.2), besides the id of
// a text, which is made where it is missing.
var shapes = map[api.EventType][]wanted{
	"text":        {{contentNames, emptyText}},
	"reasoning":   {{contentNames, emptyText}},
	"tool_call":   {{toolNames, emptyText}, {inputNames, null}},
	"tool_result": {{toolNames, emptyText}, {outputNames, null}},
	"usage":       {{inputTokensNames, zero}, {outputTokensNames, zero}},
	"error":       {{messageNames, emptyText}},
}

// reserved are the frames that only this face sends: a worker must not be able to
// raise a prompt that is none.
var reserved = map[api.EventType]bool{
	"connected": true, "relay": true, "relay_resolved": true, "question": true, "question_resolved": true,
}

// worked passes an event of the worker on by its name, its members completed. Names
// that the protocol does not have go through too; its clients skip them.
func (t *teller) worked(event *model.Event) error {
	given, err := objectOf(event.Body)
	if err != nil {
		return err
	}
	name := event.Type
	if name == "delta" {
		name = "text"
	}
	who := t.own(event)
	used := append(who.take(given), "type")
	// Where an agent inside of the run begins and ends only the worker knows; of the run
	// itself the service knows better.
	if reserved[name] || who.parentID == "" && (name == "harness_start" || name == "harness_end") {
		t.debug("a frame that is the service's own", event)
		return nil
	}
	frame := who.members()
	if name == "text" || name == "reasoning" {
		if given.get("id") == nil {
			frame = append(frame, member{"id", textValue(t.blockID(who, name, event))})
		}
	} else {
		t.cut(who)
	}
	if name == "tool_call" || name == "tool_result" {
		id, taken := given.first(callIDNames, textValue(eventName(event)))
		if call, ok := textOf(id); ok && name == "tool_result" && t.told(event, call) {
			t.debug("the result of a denied call, which was told", event)
			return nil
		}
		frame, used = append(frame, member{"id", id}), append(used, taken)
	}
	for _, one := range shapes[name] {
		value, taken := given.first(one.names, one.missing)
		frame, used = append(frame, member{one.names[0], value}), append(used, taken)
	}
	t.send(string(name), append(frame, given.without(used, frame)...))
	return nil
}

// told reports whether the result of a call was sent when it was denied. It is said
// once: the worker may use the id again.
func (t *teller) told(event *model.Event, toolCallID string) bool {
	key := promptKey{event.RunID, toolCallID}
	denied := t.denied[key]
	delete(t.denied, key)
	return denied
}

// first returns the first member of some names that is there, and its name.
func (o object) first(names []string, missing api.JSON) (value api.JSON, name string) {
	for _, name := range names {
		if value := o.get(name); value != nil {
			return value, name
		}
	}
	return missing, ""
}

// without returns the members that were not used, and whose names a frame does not
// have.
func (o object) without(used []string, frame object) object {
	skip := map[string]bool{}
	for _, name := range used {
		skip[name] = true
	}
	for i := range frame {
		skip[frame[i].name] = true
	}
	var rest object
	for _, one := range o {
		if !skip[one.name] {
			rest = append(rest, one)
		}
	}
	return rest
}

// block is a piece of text that comes in several frames, which clients put together by
// their id.
type block struct {
	kind api.EventType
	id   string
}

// blockID returns the id of a text that came without one: that of the frame before it,
// when nothing else came from this agent in between.
func (t *teller) blockID(who origin, kind api.EventType, event *model.Event) string {
	if t.blocks[who.runID].kind != kind {
		t.blocks[who.runID] = block{kind: kind, id: eventName(event)}
	}
	return t.blocks[who.runID].id
}

// cut ends the text that an agent is writing.
func (t *teller) cut(who origin) { delete(t.blocks, who.runID) }

// eventName is an id for what came without one. It is the same whoever makes it.
func eventName(event *model.Event) string {
	return event.RunID + "/" + strconv.FormatInt(event.EventID, 10)
}
