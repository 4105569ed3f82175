package links

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/visible"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs/model"
)

//go:embed assets/page.html
var source string

// decisionAnswer decides a question. Approvals have their behaviors.
const decisionAnswer = "answer"

// The texts of a link that does not work, for every reason.
const (
	deadTitle = "This link does not work"
	deadText  = "A link works for 72 hours, for one person, until the request is decided. If you have just decided here, your decision is recorded."
)

// noCodeText answers a form of a link that takes no code now: its person has to sign in.
const noCodeText = "This link takes no code. Nothing was recorded: sign in to decide."

// pages writes the pages.
type pages struct {
	template *template.Template
	policy   string
}

// content is what the template shows. Empty parts are left out.
type content struct {
	Title, Text, Deadline, Fault string
	Entry                        bool
	Review                       *review
	Inbox                        string
}

// review is a whole request with its form.
type review struct {
	Agent string
	Lines []prompt.Row // the agent's words, and what else is one line
	Hints []api.Hint
	Code  string
	// Digest is set for an approval, Question for a question that the page can ask.
	Digest   string
	Parts    []prompt.Row // of the input
	Question string
	Choice   string // the type of the options' fields
	Options  []api.QuestionOption
	Freeform bool
}

// newPages parses the template, which is embedded.
func newPages() *pages {
	p := &pages{template: template.Must(template.New("page").Parse(source))}
	_, style, _ := strings.Cut(string(p.render(&content{})), "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	p.policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	return p
}

func (p *pages) render(shown *content) []byte {
	var page bytes.Buffer
	if err := p.template.Execute(&page, shown); err != nil {
		panic(err) // the template is embedded and fits its content, and a buffer returns no error
	}
	return page.Bytes()
}

func (p *pages) write(w http.ResponseWriter, status int, shown *content) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", p.policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(p.render(shown)) // a failed write means that the browser disconnected
}

// entry shows the tool and the deadline, and asks for the code if the link takes one.
func (p *pages) entry(w http.ResponseWriter, status int, link *notify.Link, fault string) {
	shown := about(link)
	shown.Fault, shown.Entry = fault, link.TakesCode
	if !shown.Entry {
		shown.Text = "Sign in to see it and to decide."
	}
	p.write(w, status, shown)
}

// about returns what every page of a link shows.
func about(link *notify.Link) *content {
	shown := &content{Title: "A question is waiting for an answer", Inbox: "../?prompt=" + url.QueryEscape(link.Request.Handle)}
	if tool := toolOf(link.Request); tool != "" {
		shown.Title = "Approval needed: " + visible.Escape(tool)
	}
	shown.Deadline = notify.DeadlineText(link.Request)
	return shown
}

func wrongText(left int64) string {
	switch left {
	case 0:
		return "This link takes no more codes: open the request in the inbox."
	case 1:
		return "Wrong code. Use the one from the message with this link. You have one try left."
	}
	return fmt.Sprintf("Wrong code. Use the one from the message with this link. You have %d tries left.", left)
}

// review shows the whole request, and the buttons that decide it.
func (p *pages) review(w http.ResponseWriter, status int, link *notify.Link, code, fault string) {
	shown := about(link)
	shown.Fault = fault
	of := &review{Agent: visible.Escape(link.Run.AgentID), Code: code}
	shown.Review = of
	if link.Request.Kind == model.KindApproval {
		approval := link.Request.Approval()
		of.Hints, of.Digest = escaped(approval.Hints), approval.InputDigest
		for _, row := range prompt.ForDeciding(prompt.OfApproval(&approval)) {
			row.Label, row.Value = strings.ToUpper(row.Label[:1])+row.Label[1:], visible.Escape(row.Value)
			switch row.Kind {
			case prompt.Text, prompt.Said:
				of.Lines = append(of.Lines, row)
			case prompt.Body, prompt.Verbatim:
				of.Parts = append(of.Parts, row)
			case prompt.Title, prompt.Time, prompt.List, prompt.Rules: // every page of the link has them, or Hints
			}
		}
	} else {
		question := link.Request.Question()
		of.Hints = escaped(question.Hints)
		if one := simple(link.Request); one != nil {
			of.Question, of.Freeform, of.Choice = visible.Escape(prompt.QuestionText(&question)), one.TakesFreeform(), "radio"
			if one.MultiSelect {
				of.Choice = "checkbox"
			}
			of.Options = toldApart(one.Options)
		}
	}
	p.write(w, status, shown)
}

// toldApart returns the options as the page shows them, with the id where they read the same.
func toldApart(options []api.QuestionOption) []api.QuestionOption {
	var shown []api.QuestionOption
	for _, option := range options {
		shown = append(shown, api.QuestionOption{ID: option.ID, Label: visible.Escape(option.Label), Description: visible.Escape(option.Description)})
	}
	all := slices.Clone(shown)
	for i := range shown {
		one := &shown[i]
		if slices.ContainsFunc(all, func(other api.QuestionOption) bool {
			return other.ID != one.ID && other.Label == one.Label && other.Description == one.Description
		}) {
			one.Label += " (" + visible.Escape(one.ID) + ")"
		}
	}
	return shown
}

func escaped(hints []api.Hint) []api.Hint {
	hints = slices.Clone(hints)
	for i := range hints {
		hints[i].Text = visible.Escape(hints[i].Text)
	}
	return hints
}

// done says what was recorded.
func (p *pages) done(w http.ResponseWriter, link *notify.Link, decision string) {
	shown := about(link)
	shown.Deadline = ""
	switch decision {
	case string(api.BehaviorAllow):
		shown.Title, shown.Text = "Allowed", "You allowed "+visible.Escape(toolOf(link.Request))+"."
	case string(api.BehaviorDeny):
		shown.Title, shown.Text = "Denied", "You denied "+visible.Escape(toolOf(link.Request))+"."
	default:
		shown.Title, shown.Text = "Answered", "Your answer is recorded."
	}
	p.write(w, http.StatusOK, shown)
}

// problem shows an error.
func (p *pages) problem(w http.ResponseWriter, problem *api.Problem) {
	shown := &content{Title: "This did not work", Text: problem.Detail}
	if problem.Code == api.CodeLinkNotFound {
		shown.Title, shown.Text = deadTitle, deadText
	}
	if recorded := problem.RecordedDecision; recorded != nil {
		shown.Title, shown.Text = "Already decided", "This request was "+string(recorded.Outcome)+" by "+visible.Escape(recorded.ResolvedBy)+" on "+notify.TimeText(recorded.ResolvedAtMs)+"."
	}
	p.write(w, problem.Status, shown)
}
