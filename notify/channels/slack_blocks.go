package channels

import (
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/visible"
	"github.com/holdpoint/holdpoint/notify"
)

// Slack folds longer texts, so that a person would allow what they have not seen.
const (
	maxSlackDetails = 600
	maxSlackLines   = 12
)

// actionOpen is the action of a button that opens a URL. The other actions are behaviors.
const actionOpen = "open"

// Whole implements notify.Listener.
func (s *slackChannel) Whole(text string) (shown string, whole bool) {
	shown = visible.Escape(text)
	return shown, utf8.RuneCountInString(shown) <= maxSlackDetails && strings.Count(shown, "\n") < maxSlackLines
}

// slackMessage returns the content of a message. Agents' texts are elements of rich text, in which Slack looks
// for no mentions, links or formats. The text for notifications is escaped.
func slackMessage(m *notify.Message) []slack.MsgOption {
	plain := func(text string, style *slack.RichTextSectionTextStyle) slack.RichTextSectionElement {
		return slack.NewRichTextSectionTextElement(visible.Escape(text), style)
	}
	parts := []slack.RichTextElement{slack.NewRichTextSection(
		plain(m.Subject, &slack.RichTextSectionTextStyle{Bold: true}), plain("\n"+strings.TrimSpace(m.Body), nil),
	)}
	if m.Details != "" {
		// It is as Whole returned it.
		parts = append(parts, &slack.RichTextPreformatted{
			Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{slack.NewRichTextSectionTextElement(m.Details, nil)},
		})
	}
	blocks := []slack.Block{slack.NewRichTextBlock("", parts...)}
	if buttons := slackButtons(m); len(buttons) > 0 {
		blocks = append(blocks, slack.NewActionBlock("", buttons...))
	}
	return []slack.MsgOption{
		slack.MsgOptionText(visible.Escape(m.Subject), true), slack.MsgOptionBlocks(blocks...), slack.MsgOptionDisableMarkdown(),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
}

func slackButtons(m *notify.Message) (buttons []slack.BlockElement) {
	label := func(text string) *slack.TextBlockObject {
		return slack.NewTextBlockObject(slack.PlainTextType, text, false, false)
	}
	if m.Buttons != nil {
		if m.Buttons.Allow && m.Details != "" {
			buttons = append(buttons, slack.NewButtonBlockElement(string(api.BehaviorAllow), m.Buttons.Secret, label("Allow")).WithStyle(slack.StylePrimary))
		}
		buttons = append(buttons, slack.NewButtonBlockElement(string(api.BehaviorDeny), m.Buttons.Secret, label("Deny")).WithStyle(slack.StyleDanger))
	}
	if m.Link != "" && m.Kind != notify.KindSettled {
		buttons = append(buttons, openButton(m.Link))
	}
	return buttons
}

func openButton(link string) slack.BlockElement {
	return slack.NewButtonBlockElement(actionOpen, "", slack.NewTextBlockObject(slack.PlainTextType, "Open", false, false)).WithURL(link)
}
