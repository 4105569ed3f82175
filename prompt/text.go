package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/canonical"
)

// CommandOf returns a tool call as one text: the command if the input has one, or else the
// input as compact JSON. The directory and the names of other members follow.
func CommandOf(input api.JSON) string {
	list := membersOf(input)
	command, list, found := commandIn(list)
	if !found {
		return Compact(input)
	}
	var notes []string
	if cwd, _ := textOf(list, "cwd"); cwd != "" {
		notes = append(notes, "in "+cwd)
		list = slices.DeleteFunc(list, func(one canonical.Member) bool { return one.Is("cwd") })
	}
	if len(list) > 0 {
		names, more := make([]string, len(list)), ""
		for i, one := range list {
			names[i] = one.Text()
		}
		if slices.Sort(names); len(names) > shownNames {
			names, more = names[:shownNames], ", …"
		}
		notes = append(notes, fmt.Sprintf("and %d more: %s%s", len(list), strings.Join(names, ", "), more))
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

// AskHeader is the header of a question of holdpoint ask.
const AskHeader = "Question"

// headed returns the text of a question of a request, at an index from 0, behind the header that its agent gave it: a question
// may say only there what it is about.
func headed(question *api.UserQuestion, index int) string {
	switch question.Header {
	case "", AskHeader, fmt.Sprintf(api.QuestionHeader, index+1):
		return question.Question
	}
	return "[" + strings.ReplaceAll(question.Header, "\n", `\n`) + "] " + question.Question
}

// QuestionText returns the questions of a request, each behind its header, as one text.
func QuestionText(request *api.UserQuestionRequest) string {
	var texts []string
	for i := range request.Questions {
		texts = append(texts, headed(&request.Questions[i], i))
	}
	if len(texts) > 0 {
		return strings.Join(texts, " / ")
	}
	if _, text := asking(request.Payload); text != "" {
		return text
	}
	if request.Payload != nil {
		return Compact(request.Payload)
	}
	return Compact(request.ResponseSchema)
}

// asking returns the member of a payload that asks, and its text; "" and "" where there is none.
func asking(payload api.JSON) (name, text string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return "", ""
	}
	for _, name = range []string{"question", "message"} {
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			return name, text
		}
	}
	return "", ""
}

// OnlyQuestion reports whether QuestionText has everything that the payload of a request says.
func OnlyQuestion(request *api.UserQuestionRequest) bool {
	switch {
	case request.Payload == nil:
		return true
	case len(request.Questions) > 0:
		return false
	case QuestionText(request) == Compact(request.Payload):
		return true
	}
	list, err := canonical.Members(request.Payload)
	name, _ := asking(request.Payload)
	return err == nil && !slices.ContainsFunc(list, func(one canonical.Member) bool { return !one.Is(name) })
}

// ReadList reads the items of a comma-separated list as options, whose labels may contain commas: at most longest items
// each. match returns the id of an option, and how many options have the label. ids has each option once, and is nil when
// an item matches none; read counts the items before it. ambiguous says that the list can be read as different options.
func ReadList(items []string, longest int, match func(label string) (id string, matches int)) (ids []string, read int, ambiguous bool) {
	// readings[n] is one reading of the first n items; several says that there is another.
	readings, several := make([][]string, len(items)+1), make([]bool, len(items)+1)
	readings[0] = []string{}
	for end := 1; end <= len(items); end++ {
		for begin := max(0, end-longest); begin < end; begin++ {
			if readings[begin] == nil {
				continue
			}
			id, matches := match(strings.TrimSpace(strings.Join(items[begin:end], ",")))
			if matches == 0 {
				continue
			}
			reading := readings[begin]
			if !slices.Contains(reading, id) {
				reading = append(slices.Clone(reading), id)
			}
			several[end] = several[end] || several[begin] || matches > 1 || readings[end] != nil && !sameOptions(readings[end], reading)
			readings[end], read = reading, end
		}
	}
	return readings[len(items)], read, several[len(items)]
}

func sameOptions(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id string) bool { return !slices.Contains(b, id) })
}
