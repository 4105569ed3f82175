// Package slackpeer is Slack on loopback: the test server of the library, with private conversations that keep their
// messages and with Socket Mode.
//
// Only tests import it. It must not know the service that calls it.
package slackpeer

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack/slacktest"
	"github.com/stretchr/testify/require"
)

// The tokens of the app.
const (
	AppToken = "xapp-secret"
	BotToken = "xoxb-secret"
)

// Workspace is a workspace of Slack until the test ends. A user with the id U0ADA has the conversation D0ADA.
type Workspace struct {
	server *slacktest.Server

	mu sync.Mutex
	// Messages has an empty Post for one that was deleted.
	Messages []*Post
	whispers []Post // what one person saw
	sockets  []*websocket.Conn
	acks     map[string]int
	envelope int
	// Answers are what calls of a method get instead, by method.
	Answers map[string]func(http.ResponseWriter)
	// After answers a call of a method that took effect, by method.
	After map[string]func(http.ResponseWriter)
	// Calls are the methods that were called.
	Calls []string
}

// Post is a message. User is set for one that only one person sees. Blocks and Metadata are JSON.
type Post struct {
	User, Channel, Timestamp, Text, Blocks, Metadata string
}

// URL returns the address of the API.
func (p *Workspace) URL() string { return p.server.GetAPIURL() }

// Values returns the values of the buttons by action, and the URLs of those that open one.
func (p *Post) Values(t *testing.T) map[string]string {
	t.Helper()
	var blocks []struct {
		Type     string `json:"type"`
		Elements []struct {
			ActionID string `json:"action_id"`
			Value    string `json:"value"`
			URL      string `json:"url"`
		} `json:"elements"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.Blocks), &blocks))
	values := map[string]string{}
	for _, block := range blocks {
		if block.Type == "actions" {
			for _, button := range block.Elements {
				values[button.ActionID] = button.Value + button.URL
			}
		}
	}
	return values
}

// Start starts a workspace with one app, whose tokens are AppToken and BotToken.
func Start(t *testing.T) *Workspace {
	t.Helper()
	p := &Workspace{acks: map[string]int{}, Answers: map[string]func(http.ResponseWriter){}, After: map[string]func(http.ResponseWriter){}}
	p.server = slacktest.NewTestServer(func(custom slacktest.Customize) {
		for method, handle := range map[string]func(url.Values) (map[string]any, string){
			"chat.postMessage": p.post, "chat.update": p.update, "chat.delete": p.remove, "chat.postEphemeral": p.whisper,
			"conversations.open": p.open, "conversations.history": p.history,
			"apps.connections.open": func(url.Values) (map[string]any, string) {
				return map[string]any{"url": "ws://" + p.server.ServerAddr + "/socket"}, ""
			},
		} {
			custom.Handle("/"+method, func(w http.ResponseWriter, r *http.Request) { p.handle(t, method, handle, w, r) })
		}
		custom.Handle("/socket", p.connect)
	})
	p.server.Start()
	t.Cleanup(func() {
		p.Disconnect()
		p.server.Stop()
	})
	return p
}

// Disconnect ends the connections of Socket Mode.
func (p *Workspace) Disconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, socket := range p.sockets {
		_ = socket.Close() // the service may have closed it
	}
}

func (p *Workspace) handle(t *testing.T, method string, handle func(url.Values) (map[string]any, string), w http.ResponseWriter, r *http.Request) {
	token := "Bearer " + BotToken
	if method == "apps.connections.open" {
		token = "Bearer " + AppToken
	}
	body, err := io.ReadAll(r.Body)
	form, formErr := url.ParseQuery(string(body))
	if err != nil || formErr != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Calls = append(p.Calls, method)
	if form.Get("token") != strings.TrimPrefix(token, "Bearer ") && r.Header.Get("Authorization") != token {
		t.Errorf("%s without its token", method)
	}
	if answer := p.Answers[method]; answer != nil {
		answer(w)
		return
	}
	reply, code := handle(form)
	if answer := p.After[method]; answer != nil {
		answer(w)
		return
	}
	if reply == nil {
		reply = map[string]any{}
	}
	reply["ok"] = code == ""
	if code != "" {
		reply["error"] = code
	}
	_ = json.NewEncoder(w).Encode(reply) // the service has gone
}

func (p *Workspace) post(form url.Values) (map[string]any, string) {
	channel := strings.Replace(form.Get("channel"), "U", "D", 1)
	post := &Post{
		Channel: channel, Timestamp: fmt.Sprintf("170000%04d.000100", len(p.Messages)), Text: form.Get("text"), Blocks: form.Get("blocks"), Metadata: form.Get("metadata"),
	}
	p.Messages = append(p.Messages, post)
	return map[string]any{"channel": channel, "ts": post.Timestamp}, ""
}

func (p *Workspace) at(form url.Values) int {
	for i, post := range p.Messages {
		if post.Channel == form.Get("channel") && post.Timestamp == form.Get("ts") {
			return i
		}
	}
	return -1
}

func (p *Workspace) update(form url.Values) (map[string]any, string) {
	i := p.at(form)
	if i < 0 {
		return nil, "message_not_found"
	}
	p.Messages[i].Text, p.Messages[i].Blocks = form.Get("text"), form.Get("blocks")
	return map[string]any{"channel": form.Get("channel"), "ts": form.Get("ts"), "text": form.Get("text")}, ""
}

func (p *Workspace) remove(form url.Values) (map[string]any, string) {
	i := p.at(form)
	if i < 0 {
		return nil, "message_not_found"
	}
	p.Messages[i] = &Post{}
	return map[string]any{"channel": form.Get("channel"), "ts": form.Get("ts")}, ""
}

func (p *Workspace) whisper(form url.Values) (map[string]any, string) {
	p.whispers = append(p.whispers, Post{User: form.Get("user"), Channel: form.Get("channel"), Text: form.Get("text"), Blocks: form.Get("blocks")})
	return map[string]any{"message_ts": "1.1"}, ""
}

func (p *Workspace) open(form url.Values) (map[string]any, string) {
	return map[string]any{"channel": map[string]any{"id": strings.Replace(form.Get("users"), "U", "D", 1)}}, ""
}

// history returns a page of a conversation, newest message first. The cursor is where the page begins.
func (p *Workspace) history(form url.Values) (map[string]any, string) {
	var found []map[string]any
	for _, post := range slices.Backward(p.Messages) {
		if post.Channel == form.Get("channel") {
			one := map[string]any{"ts": post.Timestamp, "text": post.Text}
			if post.Metadata != "" {
				one["metadata"] = json.RawMessage(post.Metadata)
			}
			found = append(found, one)
		}
	}
	from, _ := strconv.Atoi(form.Get("cursor")) // none is 0
	limit, err := strconv.Atoi(form.Get("limit"))
	if err != nil {
		return nil, "invalid_limit"
	}
	to := min(from+limit, len(found))
	reply := map[string]any{"messages": found[from:to], "has_more": to < len(found)}
	if to < len(found) {
		reply["response_metadata"] = map[string]any{"next_cursor": strconv.Itoa(to)}
	}
	return reply, ""
}

// connect serves Socket Mode.
func (p *Workspace) connect(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	socket, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	p.mu.Lock()
	_ = socket.WriteMessage(websocket.TextMessage, []byte(`{"type":"hello","num_connections":1}`)) // a lost one is made again
	p.sockets = append(p.sockets, socket)
	p.mu.Unlock()
	for {
		var ack struct {
			EnvelopeID string `json:"envelope_id"`
		}
		if err := socket.ReadJSON(&ack); err != nil {
			break
		}
		p.mu.Lock()
		p.acks[ack.EnvelopeID]++
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.sockets {
		if p.sockets[i] == socket {
			p.sockets = append(p.sockets[:i:i], p.sockets[i+1:]...)
			return
		}
	}
}

// Press presses a button as a Slack user, and waits until the service has acknowledged it. Times is how often
// Slack delivers the envelope.
func (p *Workspace) Press(t *testing.T, user, action, value string, times int) {
	t.Helper()
	p.mu.Lock()
	p.envelope++
	id := fmt.Sprintf("envelope-%d", p.envelope)
	p.mu.Unlock()
	text, err := json.Marshal(map[string]any{"type": "interactive", "envelope_id": id, "accepts_response_payload": false, "payload": map[string]any{
		"type": "block_actions", "user": map[string]any{"id": user, "username": "ada"}, "channel": map[string]any{"id": "D" + user[1:]},
		"actions": []any{map[string]any{"action_id": action, "block_id": "b", "type": "button", "value": value, "action_ts": "1.1"}},
	}})
	require.NoError(t, err)
	for range times {
		require.Eventually(t, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.sockets) == 0 {
				return false
			}
			return p.sockets[len(p.sockets)-1].WriteMessage(websocket.TextMessage, text) == nil
		}, time.Minute, 10*time.Millisecond, "a connection")
	}
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.acks[id] >= times
	}, time.Minute, 10*time.Millisecond, "the acknowledgement")
}

// Of returns the messages to a person.
func (p *Workspace) Of(user string) (posts []Post) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, post := range p.Messages {
		if post.Channel == "D"+user[1:] {
			posts = append(posts, *post)
		}
	}
	return posts
}

// About returns the messages to a person with a text.
func (p *Workspace) About(user, text string) (posts []Post) {
	for _, post := range p.Of(user) {
		if strings.Contains(post.Blocks, text) {
			posts = append(posts, post)
		}
	}
	return posts
}

// Whispered returns what a person was told in private.
func (p *Workspace) Whispered(user string) (texts []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, whisper := range p.whispers {
		if whisper.User == user {
			texts = append(texts, whisper.Text)
		}
	}
	return texts
}

// Set changes what calls get.
func (p *Workspace) Set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// Refuses answers with a code of Slack.
func Refuses(code string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { _, _ = fmt.Fprintf(w, `{"ok":false,"error":%q}`, code) }
}

// Limits answers that there were too many calls.
func Limits(pause time.Duration) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", strconv.Itoa(int(pause.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
	}
}
