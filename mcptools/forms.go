package mcptools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/internal/visible"
	"github.com/holdpoint/holdpoint/prompt"
)

// maxFormBytes is the maximum size of a form. A request that does not fit is decided elsewhere,
// because nobody may decide about hidden content.
const maxFormBytes = 16 << 10

// Forms returns what the person at the client is shown for a run's open requests: a form, if the
// caller's role may decide and the form shows the whole request, otherwise a link to it. It returns
// nothing for a client that shows neither.
func (w *Waits) Forms(ctx context.Context, run *api.RunView, capabilities *mcp.ClientCapabilities) mcp.InputRequestMap {
	links := w.options.Link != nil && opensLinks(capabilities)
	if !run.Status.Waiting() || !links && !showsForms(capabilities) {
		return nil
	}
	decides := showsForms(capabilities) && w.options.MayDecide != nil && w.options.MayDecide(ctx)
	shown, agent := mcp.InputRequestMap{}, visible.Escape(run.AgentID)
	// The key is the handle: other ids recur, and an answer to an earlier form must not decide a later request.
	add := func(handle, message string, form *mcp.ElicitParams) {
		if form == nil && links {
			form = w.link(handle, message)
		}
		if form != nil {
			shown[handle] = form
		}
	}
	for _, request := range run.PendingApprovals {
		var form *mcp.ElicitParams
		if decides {
			form = approvalForm(agent, &request)
		}
		add(request.Handle, fmt.Sprintf("The agent %s asks to run %s. See the request and decide in the browser.", agent, visible.Escape(request.ToolName)), form)
	}
	for _, request := range run.PendingQuestions {
		var form *mcp.ElicitParams
		if decides {
			form = questionForm(agent, &request)
		}
		add(request.Handle, fmt.Sprintf("The agent %s has a question. Answer it in the browser.", agent), form)
	}
	return shown
}

// asks reports whether the person at the client is shown the request of a call that is not raised yet.
func (w *Waits) asks(ctx context.Context, call *ask.Call, capabilities *mcp.ClientCapabilities) bool {
	agent := visible.Escape(w.options.AgentID)
	switch {
	case w.options.Link != nil && opensLinks(capabilities) && w.options.Link("-") != "": // a service on a socket has no addresses
		return true
	case !showsForms(capabilities) || w.options.MayDecide == nil || !w.options.MayDecide(ctx):
		return false
	case call.Approval != nil:
		return approvalForm(agent, call.Approval) != nil
	default:
		return call.Question != nil && questionForm(agent, call.Question) != nil
	}
}

// link returns the link to a request; nil if there is none.
func (w *Waits) link(handle, message string) *mcp.ElicitParams {
	address := w.options.Link(handle)
	if address == "" {
		return nil
	}
	return &mcp.ElicitParams{Mode: modeURL, Message: message, URL: address, ElicitationID: handle}
}

// The modes of an elicitation.
const (
	modeForm = "form"
	modeURL  = "url"
)

// isForm reports whether the person at the client can fill in what was shown. A response to a link
// decides nothing.
func isForm(shown mcp.InputRequest) bool {
	params, is := shown.(*mcp.ElicitParams)
	return is && params.Mode == modeForm
}

// showsForms reports whether a client shows forms. A client that names no mode does.
func showsForms(capabilities *mcp.ClientCapabilities) bool {
	return capabilities != nil && capabilities.Elicitation != nil &&
		(capabilities.Elicitation.Form != nil || capabilities.Elicitation.URL == nil)
}

// opensLinks reports whether a client opens links.
func opensLinks(capabilities *mcp.ClientCapabilities) bool {
	return capabilities != nil && capabilities.Elicitation != nil && capabilities.Elicitation.URL != nil
}

const approvalFormSchema = `{
  "type": "object", "required": ["decision"],
  "properties": {
    "decision": {"type": "string", "title": "Decision", "enum": ["allow", "deny"]},
    "reason": {"type": "string", "title": "Reason", "description": "What the agent is told.", "maxLength": 1000}
  }
}`

// approvalForm returns the form of an approval. It returns nil for one that cannot be shown whole,
// and for one that excludes its requester, because the client calls as the requester.
func approvalForm(agent string, request *api.ApprovalRequest) *mcp.ElicitParams {
	if request.InputTruncated || request.ExcludeRequester || len(request.SensitivePaths) > 0 {
		return nil
	}
	rows := prompt.OfApproval(request)
	input := strings.Join(prompt.RequestLines(rows, func(text string, _ bool) string { return visible.Escape(text) }), "\n")
	return form(fmt.Sprintf("The agent %s asks to run %s with:\n%s", agent, oneLine(request.ToolName), input)+said(rows), jsontext.Value(approvalFormSchema))
}

// oneLine returns a text of an agent in one line, so that none of its lines looks like the form's own.
func oneLine(text string) string { return strings.ReplaceAll(visible.Escape(text), "\n", `\n`) }

// said returns what the agent and the rules add to a request. Each line begins with who says it.
func said(rows []prompt.Row) string {
	var text strings.Builder
	saidBy := func(who, what string) {
		for line := range strings.SplitSeq(what, "\n") {
			fmt.Fprintf(&text, "\n%s: %s", who, visible.Escape(line))
		}
	}
	for _, row := range prompt.ForDeciding(rows) {
		switch row.Kind {
		case prompt.Said:
			saidBy("The agent says", row.Value)
		case prompt.Text:
			fmt.Fprintf(&text, "\n%s: %s", row.Label, oneLine(row.Value))
		case prompt.List:
			saidBy("The agent's "+row.Label, row.Value)
		case prompt.Rules:
			saidBy("A standing rule says", row.Value)
		case prompt.Title, prompt.Body, prompt.Verbatim, prompt.Time: // the sentence above names them
		}
	}
	return text.String()
}

// approvalOf returns the decision from an approval's form, if there is one.
func approvalOf(request *api.ApprovalRequest, given *filledForm) (api.ApprovalResolution, bool) {
	content := given.accepted()
	decision, _ := content["decision"].(string)
	reason, _ := content["reason"].(string)
	behavior := api.Behavior(decision)
	return api.ApprovalResolution{
		RequestID: request.ID, Behavior: behavior, InputDigest: request.InputDigest, Handle: request.Handle, Reason: reason,
	}, behavior == api.BehaviorAllow || behavior == api.BehaviorDeny
}

// questionForm returns the form of a question. It returns nil for several questions at once, a
// sensitive answer, an option with a preview, a payload, or a value that typedForm does not ask for.
func questionForm(agent string, request *api.UserQuestionRequest) *mcp.ElicitParams {
	if request.Sensitive {
		return nil
	}
	if request.ResponseSchema != nil {
		return typedForm(agent, request)
	}
	if len(request.Questions) != 1 || request.Questions[0].Sensitive || !prompt.OnlyQuestion(request) {
		return nil
	}
	question := request.Questions[0]
	members := map[string]any{}
	if question.TakesFreeform() {
		members["text"] = map[string]any{"type": "string", "title": "Answer", "description": "In your own words."}
	}
	labels := labelsOf(&question)
	if len(slices.Compact(slices.Sorted(slices.Values(labels)))) != len(labels) || !plainTogether(labels) || lookAlike(labels) {
		return nil // the choice would be ambiguous
	}
	described, shown := describedOptions(&question)
	if !shown {
		return nil
	}
	choices := map[string]any{"type": "string", "enum": labels}
	switch {
	case len(labels) == 0:
	case question.MultiSelect:
		members["options"] = map[string]any{"type": "array", "title": "Options", "items": choices}
	default:
		choices["title"] = "Option"
		members["option"] = choices
	}
	schema := map[string]any{"type": "object", "properties": members}
	return form(fmt.Sprintf("The agent %s asks: %s", agent, visible.Escape(prompt.QuestionText(request)))+described+said(prompt.OfQuestion(request)), schema)
}

// describedOptions returns the options that have a description, each on a line of its own. It returns false if a
// form cannot show an option: a text of several lines would look like several options.
func describedOptions(question *api.UserQuestion) (lines string, shown bool) {
	var text strings.Builder
	for _, option := range question.Options {
		if option.Preview != "" {
			return "", false
		}
		if option.Description == "" {
			continue
		}
		if strings.Contains(option.Label+option.Description, "\n") {
			return "", false
		}
		fmt.Fprintf(&text, "\n- %s: %s", visible.Escape(option.Label), visible.Escape(option.Description))
	}
	return text.String(), true
}

// typedForm returns the form of a typed question. It returns nil unless the value is an object of plain
// members, with at least one to fill in, and a person reads every text of its schema as it is.
func typedForm(agent string, request *api.UserQuestionRequest) *mcp.ElicitParams {
	var schema struct {
		Type       string `json:"type"`
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(request.ResponseSchema, &schema) != nil || schema.Type != "object" || len(schema.Properties) == 0 || !plainTexts(request.ResponseSchema) {
		return nil
	}
	for _, member := range schema.Properties {
		if !slices.Contains([]string{"string", "number", "integer", "boolean"}, member.Type) {
			return nil
		}
	}
	return form(fmt.Sprintf("The agent %s asks: %s", agent, visible.Escape(messageOf(request)))+said(prompt.OfQuestion(request)), jsontext.Value(request.ResponseSchema))
}

// messageOf returns the text of a typed question: its message or question, and the payload if that has more.
func messageOf(request *api.UserQuestionRequest) string {
	message := prompt.QuestionText(request)
	if prompt.OnlyQuestion(request) {
		return message
	}
	return message + "\n" + prompt.Indented(request.Payload)
}

// plainTexts reports whether no text of a schema needs to be escaped. A client shows names, titles and choices as they
// are, and an answer with other ones would not match the schema.
func plainTexts(schema api.JSON) bool {
	decoder := jsontext.NewDecoder(bytes.NewReader(schema))
	var texts []string
	choices := map[string][]string{} // texts of which a person takes one, by where they are
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return errors.Is(err, io.EOF) && plainTogether(texts) && !slices.ContainsFunc(slices.Collect(maps.Values(choices)), lookAlike)
		}
		if token.Kind() == '"' {
			text, at := token.String(), decoder.StackPointer()
			if !plain(text) {
				return false
			}
			texts = append(texts, text)
			place := string(at.Parent()) // of the names of an object, and the elements of a list
			if kind, length := decoder.StackIndex(decoder.StackDepth()); kind == '{' && length%2 == 0 {
				place = string(at.Parent().Parent()) + " " + at.LastToken() // of the titles in a list of choices
			}
			choices[place] = append(choices[place], text)
		}
	}
}

func plain(text string) bool { return visible.Escape(text) == text }

// plainTogether reports whether no text needs to be escaped next to the others: a word wholly of look-alikes is only
// found on a line with Latin letters.
func plainTogether(texts []string) bool {
	return plain(strings.ReplaceAll(strings.Join(texts, " "), "\n", " "))
}

// lookAlike reports whether two different texts look the same.
func lookAlike(texts []string) bool {
	looks := map[string]string{}
	for _, text := range texts {
		look := visible.Skeleton(text)
		if other, known := looks[look]; known && other != text {
			return true
		}
		looks[look] = text
	}
	return false
}

func labelsOf(question *api.UserQuestion) []string {
	labels := make([]string, len(question.Options))
	for i, option := range question.Options {
		labels[i] = visible.Escape(option.Label)
	}
	return labels
}

// answerOf returns the answer from a question's form, if there is one.
func answerOf(request *api.UserQuestionRequest, given *filledForm) (api.UserQuestionResolution, bool) {
	content := given.accepted()
	if content == nil {
		return api.UserQuestionResolution{}, false
	}
	if request.ResponseSchema != nil {
		return api.UserQuestionResolution{RequestID: request.ID, Value: api.JSON(given.Content)}, true
	}
	if len(request.Questions) != 1 {
		return api.UserQuestionResolution{}, false
	}
	question := request.Questions[0]
	answer := api.UserQuestionAnswer{QuestionID: question.ID}
	if answer.FreeformAnswer, _ = content["text"].(string); answer.FreeformAnswer != "" && !question.TakesFreeform() {
		return api.UserQuestionResolution{}, false
	}
	chosen, _ := content["options"].([]any)
	if one, is := content["option"]; is {
		chosen = []any{one}
	}
	labels := labelsOf(&question)
	for _, label := range chosen {
		text, _ := label.(string)
		at := slices.Index(labels, text)
		if at < 0 {
			return api.UserQuestionResolution{}, false
		}
		answer.SelectedOptionIDs = append(answer.SelectedOptionIDs, question.Options[at].ID)
	}
	return api.UserQuestionResolution{RequestID: request.ID, Answers: []api.UserQuestionAnswer{answer}},
		answer.FreeformAnswer != "" || len(answer.SelectedOptionIDs) > 0
}

func form(message string, schema any) *mcp.ElicitParams {
	text, err := json.Marshal(schema)
	if err != nil || len(message)+len(text) > maxFormBytes {
		return nil
	}
	return &mcp.ElicitParams{Mode: modeForm, Message: message, RequestedSchema: schema}
}
