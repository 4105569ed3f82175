package notify

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/holdpoint/holdpoint/runs/model"
)

// maxShown is the maximum length of a name in a message, in characters.
const maxShown = 80

// Message is a message for a channel. Only Text may have line breaks.
type Message struct {
	// ID is the same for each attempt.
	ID string
	// Thread is the same for all messages about a session; empty for none.
	Thread  string
	Subject string
	Text    string
	// Link opens the request; empty if the service does not know its public URL.
	Link string
	// Kind is approval, question, code, flood or test. The others are set only for approval and
	// question.
	Kind, Tool, Agent, Deadline, Digest string
}

// clean returns an agent's text without control characters and truncated.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	if letters := []rune(text); len(letters) > maxShown {
		text = string(letters[:maxShown-1]) + "…"
	}
	return strings.TrimSpace(text)
}

// message returns the message about a request. It never contains the input.
func (s *Service) message(effectID string, request *model.Request, run *model.Run, summary bool) *Message {
	m := &Message{ID: effectID, Thread: request.SessionID, Agent: clean(run.AgentID), Kind: "question"}
	m.Subject = "Question from " + m.Agent
	lines := []string{"Agent " + m.Agent + " asks a question."}
	if request.Kind == model.KindApproval {
		approval := request.Approval()
		m.Kind, m.Tool = "approval", clean(approval.ToolName)
		m.Subject = "Approval needed: " + m.Tool
		lines = []string{"Agent " + m.Agent + " wants to use " + m.Tool + "."}
		if digest := strings.TrimPrefix(approval.InputDigest, "sha256:"); summary && len(digest) >= 8 {
			m.Digest = digest[:8]
			lines = append(lines, "Input digest: "+m.Digest)
		}
	}
	if request.DueAtMs != 0 {
		m.Deadline = time.UnixMilli(request.DueAtMs).UTC().Format("2 Jan 2006 15:04 MST")
		lines = append(lines, "Deadline: "+m.Deadline)
	}
	if s.options.ExternalURL != "" {
		m.Link = s.options.ExternalURL + "/?prompt=" + url.QueryEscape(request.Handle)
	}
	m.Text = textOf(lines, m.Link)
	return m
}

// floodMessage returns a message with the number of open requests, instead of one about each
// request.
func (s *Service) floodMessage(effectID string, open int64) *Message {
	m := &Message{ID: effectID, Kind: "flood", Subject: fmt.Sprintf("%d requests are open", open), Link: s.options.ExternalURL}
	m.Text = textOf([]string{fmt.Sprintf("%d requests are open. You get no more messages about single requests for a few minutes.", open)}, m.Link)
	return m
}

func (s *Service) testMessage() *Message {
	return &Message{
		ID: s.options.NewID("test"), Kind: "test", Subject: "Test message", Link: s.options.ExternalURL,
		Text: textOf([]string{"This is a test message of holdpoint."}, s.options.ExternalURL),
	}
}

func codeMessage(addressID, code string) *Message {
	return &Message{
		ID: addressID + " " + hashOf(addressID, code), Kind: "code", Subject: "Your code for holdpoint",
		Text: textOf([]string{"Code: " + code, "Type it in holdpoint to get messages at this address. If you did not ask for it, ignore this message."}, ""),
	}
}

func textOf(lines []string, link string) string {
	text := strings.Join(lines, "\n") + "\n"
	if link != "" {
		text += "\n" + link + "\n"
	}
	return text
}
