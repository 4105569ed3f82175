package channels

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
	"golang.org/x/time/rate"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// slackChannel sends private messages as a Slack app, and takes the presses of their buttons over Socket Mode.
type slackChannel struct {
	client *slack.Client
	// opens limits how often a connection is made.
	opens    *rate.Limiter
	socket   []socketmode.Option
	showMore bool
	links    api.LinkMode

	mu        sync.Mutex
	lastError string
}

// slackAPI is where Slack is called unless api_url says otherwise.
const slackAPI = "https://slack.com/api/"

func (c *channel) slack(folder string, client *egress.Client) (*slackChannel, error) {
	if c.hasEmail() || c.hasHTTP() {
		return nil, errors.New("a slack channel has app_token_file, bot_token_file, api_url, content and links, and nothing else")
	}
	if c.Links == api.LinkCode {
		return nil, errors.New("links of a slack channel are sign_in or none: its buttons need no code")
	}
	at, err := url.Parse(c.APIURL)
	if err != nil || c.APIURL != "" && (at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || !strings.HasSuffix(at.Path, "/")) {
		return nil, errors.New("api_url must be an http or https URL that ends with a slash")
	}
	if c.APIURL == "" {
		c.APIURL = slackAPI
	}
	app, err := slackToken(folder, c.AppTokenFile, "xapp-")
	if err != nil {
		return nil, fmt.Errorf("app_token_file: %w", err)
	}
	bot, err := slackToken(folder, c.BotTokenFile, "xoxb-")
	if err != nil {
		return nil, fmt.Errorf("bot_token_file: %w", err)
	}
	silent := log.New(io.Discard, "", 0)
	opens := rate.NewLimiter(rate.Every(reconnectPace), reconnectsAtOnce)
	return &slackChannel{
		client: slack.New(bot, slack.OptionAppLevelToken(app), slack.OptionAPIURL(c.APIURL), slack.OptionHTTPClient(&pacedClient{client, opens}), slack.OptionLog(silent)),
		opens:  opens,
		socket: []socketmode.Option{socketmode.OptionLog(silent), socketmode.OptionReadLimit(egress.MaxRead), socketmode.OptionDialer(&websocket.Dialer{
			NetDialContext: client.Dial, NetDialTLSContext: client.DialTLS, HandshakeTimeout: egress.Timeout, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		})},
		showMore: c.Content == contentSummary, links: c.Links, lastError: "not connected yet",
	}, nil
}

// slackToken reads a token, whose prefix says what it is for.
func slackToken(folder, path, prefix string) (string, error) {
	if path == "" {
		return "", errors.New("is missing")
	}
	token, err := secret(folder, path)
	if err == nil && (!strings.HasPrefix(token, prefix) || strings.ContainsAny(token, " \t\r\n")) {
		err = fmt.Errorf("must hold a token that begins with %s", prefix)
	}
	return token, err
}

// Kind implements notify.Channel.
func (s *slackChannel) Kind() api.ChannelKind { return api.ChannelSlack }

// Summary implements notify.Channel.
func (s *slackChannel) Summary() bool { return s.showMore }

// Links implements notify.Channel.
func (s *slackChannel) Links() api.LinkMode { return s.links }

var slackUser = regexp.MustCompile(`^[UW][A-Z0-9]{2,30}$`)

// CheckAddress implements notify.Channel.
func (s *slackChannel) CheckAddress(address string) error {
	if !slackUser.MatchString(address) {
		return errors.New("must be the id of a Slack user, such as U012AB3CD: Profile, More, Copy member ID")
	}
	return nil
}

// Send implements notify.Channel. An attempt that follows one with an unknown end looks for its message
// first, and changes it.
func (s *slackChannel) Send(ctx context.Context, address string, m *notify.Message) error {
	if m.Repeated {
		channel, timestamp, err := s.find(ctx, address, m.ID)
		if err != nil {
			return slackFailure(err)
		}
		if timestamp != "" {
			m.Reference = channel + "/" + timestamp
			err = s.update(ctx, channel, timestamp, m)
			if slices.Contains(keptCodes, slackCode(err)) {
				return nil // it was sent, and its links and buttons work
			}
			return slackFailure(err)
		}
	}
	channel, timestamp, err := s.client.PostMessageContext(ctx, address, append(slackMessage(m), slack.MsgOptionMetadata(slack.SlackMetadata{
		EventType: slackEvent, EventPayload: map[string]any{"id": idOf(m.ID)},
	}))...)
	m.Reference = channel + "/" + timestamp
	return slackFailure(err)
}

// slackEvent is the event_type of the metadata of messages.
const slackEvent = "holdpoint_message"

// A conversation's newest messages are searched in pages, because the size of an answer is limited.
const (
	searchedPage  = 50
	searchedPages = 4
)

// find returns where the message with an id is; no timestamp if it cannot be found, or may not be looked for.
func (s *slackChannel) find(ctx context.Context, address, id string) (channel, timestamp string, err error) {
	opened, _, _, err := s.client.OpenConversationContext(ctx, &slack.OpenConversationParameters{Users: []string{address}})
	if err != nil {
		return "", "", err
	}
	page := &slack.GetConversationHistoryParameters{ChannelID: opened.ID, Limit: searchedPage, IncludeAllMetadata: true}
	for range searchedPages {
		history, err := s.client.GetConversationHistoryContext(ctx, page)
		if slackCode(err) == "missing_scope" {
			return "", "", nil
		}
		if err != nil {
			return "", "", err
		}
		for i := range history.Messages {
			if found := &history.Messages[i]; found.Metadata.EventType == slackEvent && found.Metadata.EventPayload["id"] == idOf(id) {
				return opened.ID, found.Timestamp, nil
			}
		}
		if page.Cursor = history.ResponseMetaData.NextCursor; page.Cursor == "" {
			break
		}
	}
	return "", "", nil
}

func (s *slackChannel) update(ctx context.Context, channel, timestamp string, m *notify.Message) error {
	_, _, _, err := s.client.UpdateMessageContext(ctx, channel, timestamp, slackMessage(m)...)
	return err
}

// Withdraw implements notify.Withdrawer.
func (s *slackChannel) Withdraw(ctx context.Context, address string, sent *notify.SentMessage, m *notify.Message) error {
	err := s.withdraw(ctx, address, sent, m)
	if slices.Contains(goneCodes, slackCode(err)) {
		return nil
	}
	return slackFailure(err)
}

// goneCodes say that there is no message, or that nobody sees it: its person may have left the workspace.
var goneCodes = []string{"message_not_found", "channel_not_found", "user_not_found"}

func (s *slackChannel) withdraw(ctx context.Context, address string, sent *notify.SentMessage, m *notify.Message) (err error) {
	channel, timestamp, known := strings.Cut(sent.Reference, "/")
	if !known {
		if address != "" {
			channel, timestamp, err = s.find(ctx, address, sent.MessageID)
		}
		if err != nil || timestamp == "" {
			return err
		}
	}
	if m != nil {
		return s.update(ctx, channel, timestamp, m)
	}
	if _, _, err = s.client.DeleteMessageContext(ctx, channel, timestamp); slices.Contains(keptCodes, slackCode(err)) {
		err = s.update(ctx, channel, timestamp, newerMessage())
	}
	if slices.Contains(keptCodes, slackCode(err)) {
		return nil // a newer message must still be sent
	}
	return err
}

// keptCodes say that the workspace keeps its messages, or no longer lets this one be changed. No retry would help.
var keptCodes = []string{"compliance_exports_prevent_deletion", "cant_delete_message", "cant_update_message", "edit_window_closed"}

// slackCode returns the code of an error of Slack, or "".
func slackCode(err error) string {
	if refused, ok := errors.AsType[slack.SlackErrorResponse](err); ok && plainCode.MatchString(refused.Err) {
		return refused.Err
	}
	return ""
}

var plainCode = regexp.MustCompile(`^[a-z_]{1,64}$`)

// finalCodes are errors that a retry would not help. A refused token is none of them: giving up would lose the messages to
// everyone until the operator has replaced it.
var finalCodes = []string{"channel_not_found", "user_not_found"}

// slackFailure returns an error without what was sent.
func slackFailure(err error) error {
	var limited *slack.RateLimitedError
	code := slackCode(err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limited):
		return fmt.Errorf("calls of Slack are limited: %w", &runs.RetryAfterError{Ms: limited.RetryAfter.Milliseconds()})
	case slices.Contains(finalCodes, code), slices.Contains(keptCodes, code):
		return fmt.Errorf("%w: the answer of Slack: %s", notify.ErrPermanent, code)
	case code != "":
		return fmt.Errorf("the answer of Slack: %s", code)
	case errors.Is(err, egress.ErrRefused), errors.Is(err, egress.ErrPlain):
		return refusedCall("calls of Slack are refused", err)
	}
	return errors.New("no answer of Slack, or one that cannot be read")
}
