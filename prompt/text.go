package prompt

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
)

// CommandOf returns a tool call as one text: the command if the input has one, or else the
// input as compact JSON. The directory and the names of other members follow.
func CommandOf(input api.JSON) string {
	if jsontext.Value(input).Kind() != '{' {
		return Compact(input)
	}
	var members map[string]api.JSON
	var command string
	if json.Unmarshal(input, &members) != nil || json.Unmarshal(members["command"], &command) != nil || command == "" {
		return Compact(input)
	}
	delete(members, "command")
	var argv []string
	if json.Unmarshal(members["argv"], &argv) == nil && QuoteLine(argv) == command {
		delete(members, "argv") // the same command as a list
	}
	var notes []string
	var cwd string
	if json.Unmarshal(members["cwd"], &cwd) == nil && cwd != "" {
		notes = append(notes, "in "+cwd)
		delete(members, "cwd")
	}
	if names := slices.Sorted(maps.Keys(members)); len(names) > 0 {
		more := ""
		if len(names) > shownNames {
			names, more = names[:shownNames], ", …"
		}
		notes = append(notes, fmt.Sprintf("and %d more: %s%s", len(members), strings.Join(names, ", "), more))
	}
	if len(notes) == 0 {
		return command
	}
	return command + " (" + strings.Join(notes, "; ") + ")"
}

// shownNames bounds the names of other members.
const shownNames = 3

// Compact returns JSON without white space; "" for nil.
func Compact(value api.JSON) string {
	text := jsontext.Value(slices.Clone(value))
	if text == nil || text.Compact() != nil {
		return string(value)
	}
	return string(text)
}

// Indented returns JSON over several lines; "" for nil.
func Indented(value api.JSON) string {
	text := jsontext.Value(slices.Clone(value))
	if text == nil || text.Indent(jsontext.WithIndent("  ")) != nil {
		return string(value)
	}
	return string(text)
}

// QuestionText returns the questions of a request as one text.
func QuestionText(request *api.UserQuestionRequest) string {
	var texts []string
	for _, question := range request.Questions {
		texts = append(texts, question.Question)
	}
	if len(texts) > 0 {
		return strings.Join(texts, " / ")
	}
	var payload struct {
		Question string `json:"question"`
	}
	if json.Unmarshal(request.Payload, &payload) == nil && payload.Question != "" {
		return payload.Question
	}
	if request.Payload != nil {
		return Compact(request.Payload)
	}
	return Compact(request.ResponseSchema)
}
