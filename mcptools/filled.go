package mcptools

import (
	"errors"
	"math"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errRounded: the library of the protocol has read a number into a double that may be another one.
var errRounded = errors.New("a number of the form has more digits than its client's protocol keeps: answer with tasks/update, or elsewhere")

// filledForm is a form as a person has filled it in.
type filledForm struct {
	Action string `json:"action"`
	// Content has the text of the values as the client sent them.
	Content jsontext.Value `json:"content"`
}

// filled returns a form that the library of the protocol has decoded, with the text that [Exact] has
// kept. A form without it has doubles for numbers. Errors: errRounded.
func filled(given *mcp.ElicitResult) (*filledForm, error) {
	if given == nil || given.Content == nil {
		return &filledForm{}, nil
	}
	if text, is := given.Meta[contentText].(string); is {
		var content map[string]any
		if json.Unmarshal([]byte(text), &content) == nil && reflect.DeepEqual(content, given.Content) {
			return &filledForm{Action: given.Action, Content: jsontext.Value(text)}, nil
		}
	}
	for _, value := range given.Content {
		// Beyond 2^53 a double is the nearest of several integers.
		if number, is := value.(float64); is && math.Abs(number) >= 1<<53 {
			return nil, errRounded
		}
	}
	content, err := json.Marshal(given.Content, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return &filledForm{Action: given.Action, Content: content}, nil
}

// accepted decodes the content of an accepted form, and returns nil for any other one.
func (f *filledForm) accepted() map[string]any {
	var content map[string]any
	if f == nil || f.Action != "accept" || json.Unmarshal(f.Content, &content) != nil {
		return nil
	}
	return content
}
