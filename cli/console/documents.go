package console

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// CommandOf returns what a tool call would do, in one text: the command when its
// input has one, else the input as compact JSON.
func CommandOf(input api.JSON) string {
	var call struct {
		Command string `json:"command"`
	}
	if document.Kind(input) == '{' && json.Unmarshal(input, &call) == nil && call.Command != "" {
		return call.Command
	}
	return Compact(input)
}

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

// QuestionText returns what a request asks, in one text.
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
