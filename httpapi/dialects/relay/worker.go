package relay

import (
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
)

// origin is the agent behind a frame. A worker that runs agents inside its run names them in its
// events and in its requests' metadata.
type origin struct {
	runID, agentID string
	parentID       string // empty for the agent of the chat
}

func (o origin) members() kit.Object {
	members := kit.Object{kit.MemberOf("runId", o.runID), kit.MemberOf("agentId", o.agentID)}
	if o.parentID != "" {
		members = append(members, kit.MemberOf("parentId", o.parentID))
	}
	return members
}

// runOrigin is the origin of the run's own frames.
func runOrigin(event *model.Event) origin {
	return origin{runID: event.RunID, agentID: event.AgentID}
}

// requestOrigin is the origin of a request, from its metadata.
func requestOrigin(event *model.Event, metadata api.JSON) origin {
	named := runOrigin(event)
	named.override(kit.ObjectOf(metadata))
	return named
}

// Names that a worker may use for a member, the frame's own name first.
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

// override applies an object's members to the origin and returns the names that it used.
func (o *origin) override(members kit.Object) (used []string) {
	for _, part := range []struct {
		names []string
		into  *string
	}{{runIDNames, &o.runID}, {agentIDNames, &o.agentID}, {parentIDNames, &o.parentID}} {
		for _, name := range part.names {
			if text := kit.Text(members.Get(name)); text != "" {
				*part.into, used = text, append(used, name)
				break
			}
		}
	}
	return used
}

// frameMember is a member that a frame must have.
type frameMember struct {
	names []string
	// missing is the default value.
	missing api.JSON
}

var (
	null      = api.JSON("null")
	emptyText = api.JSON(`""`)
	zero      = api.JSON("0")
)

// workerFrames are the members of a worker's frames (docs/spec/relay.md#worker-events), except the
// id of a text, which is generated if missing.
var workerFrames = map[api.EventType][]frameMember{
	"text":        {{contentNames, emptyText}},
	"reasoning":   {{contentNames, emptyText}},
	"tool_call":   {{toolNames, emptyText}, {inputNames, null}},
	"tool_result": {{toolNames, emptyText}, {outputNames, null}},
	"usage":       {{inputTokensNames, zero}, {outputTokensNames, zero}},
	"error":       {{messageNames, emptyText}},
}

// reserved are the frames that only the service sends, so that a worker cannot fake a prompt.
var reserved = map[api.EventType]bool{
	"connected": true, "relay": true, "relay_resolved": true, "question": true, "question_resolved": true,
}

// workerEvent passes a worker's event on under its name, with missing members added. Clients skip
// names that the protocol does not have.
func (s *chatStream) workerEvent(event *model.Event) {
	given := kit.ObjectOf(event.Body)
	name := event.Type
	if name == "delta" {
		name = "text"
	}
	from := runOrigin(event)
	used := append(from.override(given), "type")
	// Only the worker knows when an agent inside the run begins and ends. For the run itself the
	// service knows.
	ofRun := from.parentID == "" || from.runID == event.RunID
	if reserved[name] || ofRun && (name == "harness_start" || name == "harness_end") {
		s.logSkipped("a frame that is the service's own", event)
		return
	}
	frame := from.members()
	if name == "text" || name == "reasoning" {
		if given.Get("id") == nil {
			frame = append(frame, kit.MemberOf("id", s.textBlockID(from, name, event)))
		}
	} else {
		s.endTextBlock(from)
	}
	if name == "tool_call" || name == "tool_result" {
		id, usedName := firstOf(given, callIDNames, kit.Encode(eventName(event)))
		if call := kit.Text(id); name == "tool_result" && s.resultWasSent(requestKey{event.RunID, call}) {
			s.logSkipped("the result of a denied call, which was sent", event)
			return
		}
		frame, used = append(frame, kit.MemberOf("id", id)), append(used, usedName)
	}
	for _, member := range workerFrames[name] {
		value, usedName := firstOf(given, member.names, member.missing)
		frame, used = append(frame, kit.MemberOf(member.names[0], value)), append(used, usedName)
	}
	rest := slices.DeleteFunc(given, func(member kit.Member) bool { return slices.Contains(used, member.Name) })
	s.add(string(name), kit.Join(frame, rest))
}

// resultWasSent reports whether a call's result was sent with its denial. It returns true only
// once, because the worker may reuse the id.
func (s *chatStream) resultWasSent(call requestKey) bool {
	denied := s.deniedCalls[call]
	delete(s.deniedCalls, call)
	return denied
}

// firstOf returns the first existing member of several names, and its name.
func firstOf(given kit.Object, names []string, missing api.JSON) (value api.JSON, name string) {
	for _, name := range names {
		if value := given.Get(name); value != nil {
			return value, name
		}
	}
	return missing, ""
}

// textBlock is a text in several frames, which clients join by id.
type textBlock struct {
	kind api.EventType
	id   string
}

// textBlockID returns the id for a text without one: the id of the previous frame if this agent
// sent nothing else in between.
func (s *chatStream) textBlockID(from origin, kind api.EventType, event *model.Event) string {
	if s.textBlocks[from.runID].kind != kind {
		s.textBlocks[from.runID] = textBlock{kind: kind, id: eventName(event)}
	}
	return s.textBlocks[from.runID].id
}

func (s *chatStream) endTextBlock(from origin) { delete(s.textBlocks, from.runID) }

// eventName is an id for an event's content without one. It is the same on every replica.
func eventName(event *model.Event) string {
	return event.RunID + "/" + strconv.FormatInt(event.EventID, 10)
}
