package notify

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Listener is a channel whose messages have buttons, by which people decide in place.
type Listener interface {
	Channel
	// Whole returns a text as the channel shows it, with hidden and imitating characters escaped. It returns
	// false if the channel would not show all of it at once.
	Whole(text string) (shown string, whole bool)
	// Listen hands on presses until ctx ends, and then returns nil.
	Listen(ctx context.Context, press func(context.Context, *Press) PressReply) error
	// LastError says why no presses arrive at this replica; empty if they do.
	LastError() string
}

// Buttons decide an approval in place. Deny is always there.
type Buttons struct {
	// Secret is what the buttons carry. It names neither the request nor the person.
	Secret string
	// Allow says that the message shows everything that is allowed.
	Allow bool
}

// addButtons adds buttons to the message about an approval. Only what the message shows as a whole may be
// allowed there; everything may be denied. The message may show the names of the tool and the agent shortened.
func addButtons(channel Channel, request *model.Request, agent string, m *Message) {
	listener, is := channel.(Listener)
	if !is || request.Kind != model.KindApproval {
		return
	}
	m.Buttons = &Buttons{}
	approval := request.Approval()
	text, all := detailsOf(&approval)
	named := m.Tool == approval.ToolName && m.Agent == agent
	if !channel.Summary() || !all || !named {
		return
	}
	if shown, whole := listener.Whole(text); whole {
		m.Details, m.Buttons.Allow = shown, true
	}
}

// detailsOf returns what a person reads before allowing an approval. It returns false if a message may not
// show that: values are sensitive, or a hint warns of a danger, which is for the whole page.
func detailsOf(approval *api.ApprovalRequest) (text string, all bool) {
	serious := func(hint api.Hint) bool { return hint.Level != api.HintInfo }
	if len(approval.SensitivePaths) > 0 || approval.InputDigest == "" || slices.ContainsFunc(approval.Hints, serious) {
		return "", false
	}
	if !jsontext.Value(approval.Input).IsValid() {
		return "", false // it was valid when it was stored
	}
	lines := prompt.Lines(prompt.OfApproval(approval), func(text string, breaks bool) string {
		if !breaks {
			text = strings.ReplaceAll(text, "\n", "⏎") // a break would fake a line
		}
		return text
	})
	return strings.Join(lines, "\n"), true
}
