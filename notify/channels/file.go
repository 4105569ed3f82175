package channels

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// Limits of the file.
const (
	maxFileBytes = 1 << 20
	maxChannels  = 32
	maxSecret    = 64 << 10
)

// file is the YAML document.
type file struct {
	Channels  map[string]channel  `yaml:"channels"`
	Calendars map[string]calendar `yaml:"calendars"`
	OnCall    map[string]onCall   `yaml:"oncall"`
	// Escalations are the escalations that requests can name, and DefaultEscalation is the name of the one
	// for the others.
	Escalations       map[string]namedEscalation `yaml:"escalations"`
	DefaultEscalation string                     `yaml:"default_escalation"`
}

type channel struct {
	Kind    api.ChannelKind `yaml:"kind"`
	Content string          `yaml:"content"`
	// Links is for e-mail, HTTP and Slack.
	Links api.LinkMode `yaml:"links"`

	// For e-mail.
	SMTP         string `yaml:"smtp"`
	From         string `yaml:"from"`
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"password_file"`

	// For Slack.
	AppTokenFile string `yaml:"app_token_file"`
	BotTokenFile string `yaml:"bot_token_file"`
	APIURL       string `yaml:"api_url"`

	// For HTTP.
	URL         string            `yaml:"url"`
	Method      string            `yaml:"method"`
	Headers     map[string]string `yaml:"headers"`
	Body        string            `yaml:"body"`
	SecretFiles map[string]string `yaml:"secret_files"`
	// SettledBody is sent when the request is settled; empty to send nothing then.
	SettledBody string `yaml:"settled_body"`
}

// Values of content.
const (
	contentNone    = "none"
	contentSummary = "summary"
)

var channelName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// checkName returns an error for the name of an entry that breaks the rule for names.
func checkName(what, name string) error {
	if !channelName.MatchString(name) {
		return fmt.Errorf("%s %q: a name has 1 to 32 characters of a-z 0-9 _ -", what, name)
	}
	return nil
}

// Load reads the channels in the file of --channels, none if it only has settings of escalations. Its paths are
// relative to its directory. client sends the requests of HTTP channels. [WithPush] adds the channel to browsers.
func Load(path string, client *egress.Client) (map[string]notify.Channel, error) {
	given, err := readFile(path)
	if err != nil {
		return nil, err
	}
	// The channel to browsers needs no entry, and escalations may be for it alone.
	others := len(given.Calendars) + len(given.OnCall) + len(given.Escalations)
	switch {
	case len(given.Channels) > maxChannels:
		return nil, fmt.Errorf("%s: channels must have at most %d entries", path, maxChannels)
	case len(given.Channels) == 0 && others == 0:
		return nil, fmt.Errorf("%s: must have channels, escalations, calendars or oncall", path)
	}
	made := make(map[string]notify.Channel, len(given.Channels))
	for name, settings := range given.Channels {
		if err = checkName("channel", name); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if (name == api.PushChannel) != (settings.Kind == api.ChannelPush) {
			return nil, fmt.Errorf("%s: channel %q: the channel of kind push has the name push, and no other has", path, name)
		}
		if made[name], err = settings.make(filepath.Dir(path), client); err != nil {
			return nil, fmt.Errorf("%s: channel %s: %w", path, name, err)
		}
	}
	return made, nil
}

// Escalations reads the settings of escalations in the file of --channels, and the on-call sources, by name.
// client asks the sources.
func Escalations(path string, client *egress.Client) (*escalation.Settings, map[string]notify.OnCall, error) {
	given, err := readFile(path)
	if err != nil {
		return nil, nil, err
	}
	settings := &escalation.Settings{OnCall: map[string]bool{}}
	if settings.Calendars, err = given.calendars(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	sources, err := given.onCall(filepath.Dir(path), client)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	for name := range sources {
		settings.OnCall[name] = true
	}
	if err := given.addNamed(settings); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return settings, sources, nil
}

func readFile(path string) (*file, error) {
	text, err := readBounded(path, maxFileBytes)
	if err != nil {
		return nil, err
	}
	var given file
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&given); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for {
		var rest yaml.Node
		switch err := decoder.Decode(&rest); {
		case errors.Is(err, io.EOF):
			return &given, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case len(rest.Content) > 0 && rest.Content[0].Tag != "!!null": // a bare --- may end the file
			return nil, fmt.Errorf("%s: must be one YAML document, and has another one after a line ---", path)
		}
	}
}

func (c *channel) make(folder string, client *egress.Client) (notify.Channel, error) {
	if c.Content != "" && c.Content != contentNone && c.Content != contentSummary {
		return nil, errors.New("content must be none or summary")
	}
	if c.Kind == api.ChannelPush && c.Links != "" {
		return nil, errors.New("links are of email, http and slack channels: notifications of a browser open the inbox")
	}
	switch c.Links {
	case "":
		c.Links = api.LinkSignIn
	case api.LinkSignIn, api.LinkCode, api.LinkNone:
	default:
		return nil, errors.New("links must be sign_in, code or none")
	}
	if c.Kind != api.ChannelSlack && c.hasSlack() {
		return nil, errors.New("app_token_file, bot_token_file and api_url are of slack channels")
	}
	switch c.Kind {
	case api.ChannelEmail:
		return c.email(folder)
	case api.ChannelHTTP:
		return c.httpOrSettling(folder, client)
	case api.ChannelPush:
		return c.push()
	case api.ChannelSlack:
		return c.slack(folder, client)
	}
	return nil, errors.New("kind must be email, http, push or slack")
}

func (c *channel) hasSlack() bool {
	return c.AppTokenFile != "" || c.BotTokenFile != "" || c.APIURL != ""
}

// hasEmail reports whether there are settings of e-mail, and hasHTTP whether there are settings of HTTP.
func (c *channel) hasEmail() bool {
	return c.SMTP != "" || c.From != "" || c.Username != "" || c.PasswordFile != ""
}

func (c *channel) hasHTTP() bool {
	return c.URL != "" || c.Body != "" || c.Method != "" || c.Headers != nil || c.SecretFiles != nil || c.SettledBody != ""
}

// secret reads a file without its final line break.
func secret(folder, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	text, err := readBounded(path, maxSecret)
	return strings.TrimRight(string(text), "\r\n"), err
}

func readBounded(path string, limit int64) ([]byte, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return text, err
}
