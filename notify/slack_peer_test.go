package notify_test

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

// slackPeer is Slack: the test server of the library, with conversations that keep their messages and with
// Socket Mode.
type slackPeer struct {
	server *slacktest.Server

	mu       sync.Mutex
	messages []*slackPost
	whispers []slackPost // what one person saw
	sockets  []*websocket.Conn
	acks     map[string]int
	envelope int
	// answers are what calls of a method get instead, by method.
	answers map[string]func(http.ResponseWriter)
	// after answers a call of a method that took effect, by method.
	after map[string]func(http.ResponseWriter)
	calls []string
}

// slackPost is a message.
type slackPost struct {
	user, channel, timestamp, text, blocks, metadata string
}

// values returns the values of the buttons by action, and the URLs of those that open one.
func (p *slackPost) values(t *testing.T) map[string]string {
	t.Helper()
	var blocks []struct {
		Type     string `json:"type"`
		Elements []struct {
			ActionID string `json:"action_id"`
			Value    string `json:"value"`
			URL      string `json:"url"`
		} `json:"elements"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.blocks), &blocks))
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

func startSlack(t *testing.T) *slackPeer {
	t.Helper()
	p := &slackPeer{acks: map[string]int{}, answers: map[string]func(http.ResponseWriter){}, after: map[string]func(http.ResponseWriter){}}
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
		p.mu.Lock()
		for _, socket := range p.sockets {
			_ = socket.Close() // usually closed by the service
		}
		p.mu.Unlock()
		p.server.Stop()
	})
	return p
}

func (p *slackPeer) handle(t *testing.T, method string, handle func(url.Values) (map[string]any, string), w http.ResponseWriter, r *http.Request) {
	token := "Bearer xoxb-secret"
	if method == "apps.connections.open" {
		token = "Bearer xapp-secret"
	}
	body, err := io.ReadAll(r.Body)
	form, formErr := url.ParseQuery(string(body))
	if err != nil || formErr != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, method)
	if form.Get("token") != strings.TrimPrefix(token, "Bearer ") && r.Header.Get("Authorization") != token {
		t.Errorf("%s without its token", method)
	}
	if answer := p.answers[method]; answer != nil {
		answer(w)
		return
	}
	reply, code := handle(form)
	if answer := p.after[method]; answer != nil {
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

func (p *slackPeer) post(form url.Values) (map[string]any, string) {
	channel := strings.Replace(form.Get("channel"), "U", "D", 1)
	post := &slackPost{
		channel: channel, timestamp: fmt.Sprintf("170000%04d.000100", len(p.messages)), text: form.Get("text"), blocks: form.Get("blocks"), metadata: form.Get("metadata"),
	}
	p.messages = append(p.messages, post)
	return map[string]any{"channel": channel, "ts": post.timestamp}, ""
}

func (p *slackPeer) at(form url.Values) int {
	for i, post := range p.messages {
		if post.channel == form.Get("channel") && post.timestamp == form.Get("ts") {
			return i
		}
	}
	return -1
}

func (p *slackPeer) update(form url.Values) (map[string]any, string) {
	i := p.at(form)
	if i < 0 {
		return nil, "message_not_found"
	}
	p.messages[i].text, p.messages[i].blocks = form.Get("text"), form.Get("blocks")
	return map[string]any{"channel": form.Get("channel"), "ts": form.Get("ts"), "text": form.Get("text")}, ""
}

func (p *slackPeer) remove(form url.Values) (map[string]any, string) {
	i := p.at(form)
	if i < 0 {
		return nil, "message_not_found"
	}
	p.messages[i] = &slackPost{}
	return map[string]any{"channel": form.Get("channel"), "ts": form.Get("ts")}, ""
}

func (p *slackPeer) whisper(form url.Values) (map[string]any, string) {
	p.whispers = append(p.whispers, slackPost{user: form.Get("user"), channel: form.Get("channel"), text: form.Get("text"), blocks: form.Get("blocks")})
	return map[string]any{"message_ts": "1.1"}, ""
}

func (p *slackPeer) open(form url.Values) (map[string]any, string) {
	return map[string]any{"channel": map[string]any{"id": strings.Replace(form.Get("users"), "U", "D", 1)}}, ""
}

// history returns a page of a conversation, newest message first. The cursor is where the page begins.
func (p *slackPeer) history(form url.Values) (map[string]any, string) {
	var found []map[string]any
	for _, post := range slices.Backward(p.messages) {
		if post.channel == form.Get("channel") {
			one := map[string]any{"ts": post.timestamp, "text": post.text}
			if post.metadata != "" {
				one["metadata"] = json.RawMessage(post.metadata)
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
func (p *slackPeer) connect(w http.ResponseWriter, r *http.Request) {
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

// press presses a button as a Slack user, and waits until the service has acknowledged it. Times is how often
// Slack delivers the envelope.
func (p *slackPeer) press(t *testing.T, user, action, value string, times int) {
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
		eventually(t, "a connection", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.sockets) == 0 {
				return false
			}
			return p.sockets[len(p.sockets)-1].WriteMessage(websocket.TextMessage, text) == nil
		})
	}
	eventually(t, "the acknowledgement", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.acks[id] >= times
	})
}

// of returns the messages to a person.
func (p *slackPeer) of(user string) (posts []slackPost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, post := range p.messages {
		if post.channel == "D"+user[1:] {
			posts = append(posts, *post)
		}
	}
	return posts
}

// about returns the messages to a person with a text.
func (p *slackPeer) about(user, text string) (posts []slackPost) {
	for _, post := range p.of(user) {
		if strings.Contains(post.blocks, text) {
			posts = append(posts, post)
		}
	}
	return posts
}

// whispered returns what a person was told in private.
func (p *slackPeer) whispered(user string) (texts []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, whisper := range p.whispers {
		if whisper.user == user {
			texts = append(texts, whisper.text)
		}
	}
	return texts
}

// set changes what calls get.
func (p *slackPeer) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// refuses answers with a code of Slack.
func refuses(code string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { _, _ = fmt.Fprintf(w, `{"ok":false,"error":%q}`, code) }
}

// limits answers that there were too many calls.
func limits(pause time.Duration) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", fmt.Sprint(int(pause.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
	}
}
