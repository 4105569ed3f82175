package kheish

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// typedQuestionID is the id of the question that represents a typed request.
const typedQuestionID = "value"

// showTyped adds a question to a typed request, because the clients show only questions. Its
// choices come from the payload, otherwise from the enum of the schema.
func showTyped(request map[string]any) {
	schema, typed := request["response_schema"].(map[string]any)
	typed = typed || request["response_schema"] == true // any value
	if asked, _ := request["questions"].([]any); !typed || len(asked) > 0 {
		return
	}
	payload, _ := request["payload"].(map[string]any)
	kind, title := request["kind"], schema["title"]
	values, listed := payload["options"].([]any)
	items, several := schema["items"].(map[string]any)
	several = several && schema["type"] == "array"
	if !listed {
		values, _ = schema["enum"].([]any)
	}
	if values == nil && several {
		values, _ = items["enum"].([]any)
	}
	request["questions"] = []any{map[string]any{
		"id": typedQuestionID, "header": firstText(payload["header"], title, kind, "Value"),
		"question":     firstText(payload["question"], request["payload"], schema["description"], title, kind, "Which value?"),
		"multi_select": several, "options": optionsOf(values, schema), "allow_freeform": true, // the schema decides
	}}
}

// optionsOf returns the choices of a typed question. The id of a string is the string itself,
// unless that is the JSON form of a value, as which an answer is read. The id of any other value is its
// JSON form.
func optionsOf(values []any, schema map[string]any) []any {
	values = values[:min(len(values), kit.MaxChoices)]
	options, named := make([]any, 0, len(values)), kit.EnumOf(encode(schema))
	for _, value := range values {
		option := map[string]any{}
		if described, ok := value.(map[string]any); ok {
			option["label"], option["description"] = described["label"], described["description"]
			value, _ = decode(named.ValueOf(encode(described)))
		}
		id, text := value.(string)
		if !text || json.Valid([]byte(id)) {
			id = string(encode(value))
		}
		option["id"] = id
		option["label"] = firstText(option["label"], value, id)
		if description, _ := option["description"].(string); description == "" {
			delete(option, "description")
		}
		options = append(options, option)
	}
	return options
}

// firstText returns the first nonempty string.
func firstText(values ...any) string {
	for _, value := range values {
		if text, _ := value.(string); text != "" {
			return text
		}
	}
	return ""
}

// answerTyped sends an answer unchanged. When a typed question refuses it, answerTyped sends each
// value that the answer can stand for until one is accepted. A refused call changes nothing.
func answerTyped(next http.Handler, w http.ResponseWriter, r *http.Request) {
	// The service limits the body's size.
	var text bytes.Buffer
	r.Body = io.NopCloser(io.TeeReader(r.Body, &text))
	reply := ask(next, r)
	if wantsValue(reply) {
		for _, body := range typedBodies(text.Bytes()) {
			again := r.Clone(r.Context())
			again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			if reply = ask(next, again); !wantsValue(reply) {
				break
			}
		}
	}
	reply.sendShown(w, r)
}

// wantsValue reports whether an answer was refused because a value, or another value, is required.
func wantsValue(reply *kept) bool {
	if reply.ok() {
		return false
	}
	document, _ := decode(reply.Body.Bytes())
	problem, _ := document.(map[string]any)
	code := problem["code"]
	// A repeat with a key conflicts unless its body has the value that was accepted.
	return code == "question_answer_empty" || code == "idempotency_conflict" || code == "invalid_request"
}

// typedBodies returns bodies that send the answer to showTyped's question as a value.
func typedBodies(text []byte) [][]byte {
	document, _ := decode(wire.WithoutMark(text))
	body, _ := document.(map[string]any)
	resolution, _ := body["resolution"].(map[string]any)
	answers, _ := resolution["answers"].([]any)
	if _, given := resolution["value"]; given || len(answers) != 1 {
		return nil
	}
	selected, freeform, ok := readAnswer(answers[0])
	if !ok {
		return nil
	}
	delete(resolution, "answers")
	var bodies [][]byte
	for _, value := range valuesOf(selected, freeform) {
		resolution["value"] = value
		bodies = append(bodies, encode(body))
	}
	return bodies
}

// readAnswer reads an answer to showTyped's question: options or a text. ok is false for anything else,
// which the service has refused as it was sent.
func readAnswer(value any) (selected []string, freeform string, ok bool) {
	answer, _ := value.(map[string]any)
	if answer["question_id"] != typedQuestionID {
		return nil, "", false
	}
	for name, member := range answer {
		fits := member == nil
		switch name {
		case "question_id":
			fits = true
		case "freeform_answer":
			if text, isText := member.(string); isText {
				freeform, fits = text, true
			}
		case "selected_option_ids":
			list, isList := member.([]any)
			fits = fits || isList
			for _, one := range list {
				id, isText := one.(string)
				selected, fits = append(selected, id), fits && isText
			}
		default:
			fits = false
		}
		if !fits {
			return nil, "", false
		}
	}
	return selected, freeform, len(selected) == 0 || freeform == ""
}

// valuesOf returns the values that an answer can stand for. A selected option is the value of its
// id. A text is tried as a string before JSON.
func valuesOf(selected []string, freeform string) []any {
	if len(selected) == 0 {
		if freeform == "" {
			return nil
		}
		values := []any{freeform}
		if value, ok := decodeWhole(freeform); ok {
			values = append(values, value)
		}
		return values
	}
	list, plain := make([]any, len(selected)), true
	for i, id := range selected {
		list[i] = id
		if value, ok := decodeWhole(id); ok {
			list[i], plain = value, false
		}
	}
	var values []any
	if len(list) == 1 {
		values = append(values, list[0])
	}
	values = append(values, list)
	if !plain {
		// Strings that look like JSON.
		if len(selected) == 1 {
			values = append(values, selected[0])
		}
		values = append(values, selected)
	}
	return values
}

// decodeWhole decodes a text that is exactly one JSON value.
func decodeWhole(text string) (any, bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	return decode([]byte(text))
}
