package notify

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs/model"
)

// maxShown is the maximum length of a name in a message, in characters.
const maxShown = 80

// kindFlood is the Kind of a message about several requests.
const kindFlood = "flood"

// Message is a message for a channel. Only Text and Body may have line breaks.
type Message struct {
	// ID is the same for each attempt.
	ID string
	// Thread is the same for all messages about a session; empty for none.
	Thread  string
	Subject string
	// Text is Body and, below it, Link and Code.
	Text, Body string
	// Handle names the approval that the message is about, for a channel that denies it in place; empty for all others.
	Handle string
	// Link opens the request; empty if the service does not know its public URL, or the channel has no
	// links. Path opens it in the inbox, and is always set for messages about requests.
	Link, Path string
	// Code is typed into the page of Link, by which its person decides without a sign-in; empty for none.
	Code string
	// UntilMs is the deadline of the request; 0 for none.
	UntilMs int64
	// AtMs is when it was read what is open of the session, for a browser that shows the newest message about it; 0 for unknown.
	AtMs int64
	// Buttons decide the request in place; nil for none. Details is what an allow of them allows.
	Buttons *Buttons
	Details string
	// Reference is set by a [Withdrawer] that sent the message: how it finds it again, at most 200 bytes.
	Reference string
	// Repeated says that an earlier attempt may have sent the message.
	Repeated bool
	// Kind is approval, question, code, flood, test or settled. The others are set only for approval and
	// question.
	Kind, Tool, Agent, Deadline, Digest string
}

// clean returns an agent's text as one line, truncated, with a space for each character that is not printed: U+2028 and
// U+2029 begin lines, and are not control characters. A space ends what would begin an encoded word (RFC 2047) in the subject of a
// mail or in a header: its reader would see the text that is encoded, with hidden characters.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	text = strings.ReplaceAll(text, "=?", "= ?")
	if letters := []rune(text); len(letters) > maxShown {
		text = string(letters[:maxShown-1]) + "…"
	}
	return strings.TrimSpace(text)
}

var (
	// linked is what programs make a link of when they show a text.
	linked = regexp.MustCompile(`://|\.\pL`)
	// identifier is a name such as payments.refund or claude-code:macbook.local. It stays as it is.
	identifier = regexp.MustCompile(`^[\pL\pM\pN._:-]*$`)
)

// nameOn returns the name of a tool or an agent as messages of a channel show it, cleaned. Mail programs and receivers of HTTP channels
// make links, and a person would take the link of an agent, above the one of the service, for that: each address of
// the web or of a mailbox has a space in it. Slack and browsers make none, and Slack shows what its buttons allow.
func nameOn(kind api.ChannelKind, text string) string {
	text = clean(text)
	if kind == api.ChannelSlack || kind == api.ChannelPush || identifier.MatchString(text) {
		return text
	}
	return linked.ReplaceAllStringFunc(text, func(found string) string { return found[:1] + " " + found[1:] })
}

// message returns the message about a request. It never contains the input.
func (s *Service) message(effectID string, request *model.Request, run *model.Run, kind api.ChannelKind, summary bool) *Message {
	m := &Message{ID: effectID, Thread: request.SessionID, Agent: nameOn(kind, run.AgentID), Kind: "question", UntilMs: request.DueAtMs}
	m.Subject = "Question from " + m.Agent
	lines := []string{"Agent " + m.Agent + " asks a question."}
	if request.Kind == model.KindApproval {
		approval := request.Approval()
		m.Kind, m.Tool = "approval", nameOn(kind, approval.ToolName)
		m.Handle = request.Handle
		m.Subject = "Approval needed: " + m.Tool
		use := "Agent " + m.Agent + " wants to use " + m.Tool
		if summary {
			use += purpose(approval.Input)
		}
		lines = []string{use + "."}
		if digest := shortDigest(approval.InputDigest); summary && digest != "" {
			m.Digest = digest
			lines = append(lines, "Input digest: "+m.Digest)
		}
	}
	if m.Deadline = DeadlineText(request); m.Deadline != "" {
		lines = append(lines, "Deadline: "+m.Deadline)
	}
	m.Path, m.Link = s.linkTo(request.Handle)
	return m.with(lines...)
}

// TimeText returns a time as messages and the pages of their links show it.
func TimeText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2 Jan 2006 15:04 MST") }

// DeadlineText returns the deadline of an open request as messages and the pages of their links show it, "" for
// none.
func DeadlineText(request *model.Request) string {
	if request.DueAtMs != 0 {
		return TimeText(request.DueAtMs)
	}
	e := request.Escalation()
	if atMs := request.ShownDeadlineMs(); atMs != 0 && e != nil && e.AtDeadline == api.DeadlineKeep {
		return TimeText(atMs) + " (stays open after that)"
	}
	return ""
}

// shortDigest returns the first eight digits of a digest, by which people recognize an input; "" for none.
func shortDigest(digest string) string {
	_, digits, _ := strings.Cut(digest, ":")
	if len(digits) < 8 {
		return ""
	}
	return digits[:8]
}

// purpose says by the shape of an input what its tool is used for, without any of its values.
func purpose(input api.JSON) string {
	action := prompt.Action(input)
	if action == "" {
		return ""
	}
	return " to " + strings.ToLower(action[:1]) + action[1:]
}

// linkTo returns the path and the URL that open a request in the inbox. The URL is empty if the service does
// not know its own.
func (s *Service) linkTo(handle string) (path, link string) {
	return s.linked("/?prompt=" + url.QueryEscape(handle))
}

func (s *Service) linked(path string) (same, link string) {
	if s.options.ExternalURL != "" {
		link = s.options.ExternalURL + path
	}
	return path, link
}

func openText(count int64) string {
	if count == 1 {
		return "1 request is open"
	}
	return fmt.Sprintf("%d requests are open", count)
}

// floodMessage returns a message with the number of open requests, instead of one about each
// request.
func (s *Service) floodMessage(effectID string, open int64) *Message {
	m := &Message{ID: effectID, Kind: kindFlood, Subject: openText(open), Link: s.options.ExternalURL}
	return m.with(m.Subject + ". You may get no messages about single requests for a few minutes.")
}

func (s *Service) testMessage() *Message {
	m := &Message{ID: s.options.NewID("test"), Kind: "test", Subject: "Test message", Link: s.options.ExternalURL}
	return m.with("This is a test message of holdpoint.")
}

func codeMessage(a *Address, caller, code string) *Message {
	m := &Message{ID: a.AddressID + " " + codeHash(a.AddressID, code), Kind: "code", Subject: "Your code for holdpoint"}
	if a.Principal == caller {
		return m.with("Code: "+code, "Type it in holdpoint to get messages at this address. If you did not ask for it, ignore this message.")
	}
	return m.with("Code: "+code, "An admin has added this address for "+strings.TrimPrefix(a.Principal, "user:")+
		". Type the code in holdpoint, under Settings, to get messages here. If that is not you, ignore this message.")
}

// with sets the text.
func (m *Message) with(lines ...string) *Message {
	m.Body = strings.Join(lines, "\n") + "\n"
	m.compose()
	return m
}

// compose sets Text.
func (m *Message) compose() {
	m.Text = m.Body
	if m.Link != "" {
		m.Text += "\n" + m.Link + "\n"
	}
	if m.Code != "" {
		m.Text += "Code: " + m.Code + "\n"
	}
}
