//go:build linux && agents

package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// model is a stub of four APIs with streaming: Messages, Responses, Chat Completions and Gemini's.
// It calls one tool, and once it has been told the result it says "done".
type model struct {
	server *httptest.Server
	toolID string
	tool   string
	input  string
	// alongside is the id of a second call with the same input in the same turn, in Messages.
	alongside string
	// namespace is the tool's namespace in Responses.
	namespace string

	mu      sync.Mutex
	results []string
}

func startModel(t *testing.T, toolID, tool, input string) *model {
	t.Helper()
	m := &model{toolID: toolID, tool: tool, input: input}
	m.server = httptest.NewServer(m)
	t.Cleanup(m.server.Close)
	return m
}

// told returns the results that the agent told the model of.
func (m *model) told() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.results...)
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	switch {
	case err == nil && r.Method == http.MethodPost && r.URL.Path == "/v1/messages":
		m.messages(w, body)
	case err == nil && r.Method == http.MethodPost && r.URL.Path == "/v1/responses":
		m.responses(w, body)
	case err == nil && r.Method == http.MethodPost && r.URL.Path == "/v1/chat/completions":
		m.completions(w, body)
	case err == nil && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, ":streamGenerateContent"):
		m.contents(w, body)
	default:
		http.NotFound(w, r)
	}
}

// completions answers as Chat Completions does.
func (m *model) completions(w http.ResponseWriter, body []byte) {
	var request struct {
		Messages []struct {
			Role       string          `json:"role"`
			ToolCallID string          `json:"tool_call_id"`
			Content    json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	done := len(request.Tools) == 0
	for _, one := range request.Messages {
		if one.Role == "tool" && one.ToolCallID == m.toolID {
			m.note(one.Content)
			done = true
		}
	}
	delta, finish := map[string]any{"role": "assistant", "content": "done"}, "stop"
	if !done {
		delta["content"], finish = nil, "tool_calls"
		delta["tool_calls"] = []any{map[string]any{
			"index": 0, "id": m.toolID, "type": "function", "function": map[string]any{"name": m.tool, "arguments": m.input},
		}}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []any{
		map[string]any{"index": 0, "delta": delta, "finish_reason": nil}, map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish},
	} {
		data(w, map[string]any{
			"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": []any{choice},
			"usage": map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
		})
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// contents answers as Gemini's API does.
func (m *model) contents(w http.ResponseWriter, body []byte) {
	var request struct {
		Contents []struct {
			Parts []struct {
				Result *struct {
					Response json.RawMessage `json:"response"`
				} `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	done := len(request.Tools) == 0
	for _, content := range request.Contents {
		for _, part := range content.Parts {
			if part.Result != nil {
				m.note(part.Result.Response)
				done = true
			}
		}
	}
	part := map[string]any{"text": "done"}
	if !done {
		part = map[string]any{"functionCall": map[string]any{"name": m.tool, "args": json.RawMessage(m.input)}}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	data(w, map[string]any{
		"candidates":    []any{map[string]any{"index": 0, "finishReason": "STOP", "content": map[string]any{"role": "model", "parts": []any{part}}}},
		"usageMetadata": map[string]any{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
	})
}

// data sends an event that has no name.
func data(w io.Writer, document any) {
	text, _ := json.Marshal(document)
	_, _ = io.WriteString(w, "data: "+string(text)+"\n\n")
}

// note keeps a result that the model is told of.
func (m *model) note(result json.RawMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.results = append(m.results, string(result))
}

// responses answers as the Responses API does.
func (m *model) responses(w http.ResponseWriter, body []byte) {
	var request struct {
		Input []struct {
			Type   string          `json:"type"`
			CallID string          `json:"call_id"`
			Output json.RawMessage `json:"output"`
		} `json:"input"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	item := map[string]any{"type": "function_call", "id": "fc_1", "call_id": m.toolID, "name": m.tool, "arguments": m.input}
	if m.namespace != "" {
		item["namespace"] = m.namespace
	}
	for _, one := range request.Input {
		if one.Type == "function_call_output" && one.CallID == m.toolID {
			m.note(one.Output)
			item = map[string]any{"type": "message", "role": "assistant", "id": "msg_1", "content": []any{map[string]any{"type": "output_text", "text": "done"}}}
		}
	}
	text, err := json.Marshal(item)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send(w, "response.created", `{"type":"response.created","response":{"id":"resp_1"}}`)
	send(w, "response.output_item.done", `{"type":"response.output_item.done","output_index":0,"item":`+string(text)+`}`)
	send(w, "response.completed", `{"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":1,"input_tokens_details":null,"output_tokens":1,"output_tokens_details":null,"total_tokens":2}}}`)
}

// messages answers as the Messages API does.
func (m *model) messages(w http.ResponseWriter, body []byte) {
	var request struct {
		Model    string            `json:"model"`
		Tools    []json.RawMessage `json:"tools"`
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answered := false
	for _, message := range request.Messages {
		var blocks []struct {
			Type      string          `json:"type"`
			ToolUseID string          `json:"tool_use_id"`
			Content   json.RawMessage `json:"content"`
		}
		if json.Unmarshal(message.Content, &blocks) != nil {
			continue
		}
		for _, block := range blocks {
			if block.Type == "tool_result" && (block.ToolUseID == m.toolID || block.ToolUseID == m.alongside) {
				answered = true
				m.note(block.Content)
			}
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send(w, "message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`, request.Model))
	stop := "end_turn"
	if answered || len(request.Tools) == 0 {
		send(w, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		send(w, "content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"done"}}`)
		send(w, "content_block_stop", `{"type":"content_block_stop","index":0}`)
	} else {
		stop = "tool_use"
		m.toolUse(w, 0, m.toolID)
		if m.alongside != "" {
			m.toolUse(w, 1, m.alongside)
		}
	}
	send(w, "message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}}`, stop))
	send(w, "message_stop", `{"type":"message_stop"}`)
}

// toolUse sends a call of the tool as a block of a message.
func (m *model) toolUse(w io.Writer, index int, id string) {
	send(w, "content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`, index, id, m.tool))
	half := len(m.input) / 2
	for _, part := range []string{m.input[:half], m.input[half:]} {
		text, _ := json.Marshal(part)
		send(w, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, index, text))
	}
	send(w, "content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

func send(w io.Writer, event, data string) {
	_, _ = io.WriteString(w, strings.Join([]string{"event: " + event, "data: " + data, "", ""}, "\n"))
}
