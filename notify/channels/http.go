package channels

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

var errUnfilled = fmt.Errorf("%w: the templates of the channel cannot be filled in", notify.ErrPermanent)

// maxTemplated limits the output of a template.
const maxTemplated = 64 << 10

// idempotencyKey is the header by which a receiver recognizes a message that it already has.
const idempotencyKey = "Idempotency-Key"

// httpChannel sends an HTTP request. Templates build its URL, headers and body from these values
// only.
type httpChannel struct {
	client    *egress.Client
	method    string
	url, body *template.Template
	headers   map[string]*template.Template
	secrets   map[string]string
	showMore  bool
	links     api.LinkMode
}

// values are the variables of templates.
type values struct {
	ID, Kind, Subject, Text, Link, Code, Tool, Agent, Deadline, Digest string
	// Address is the person's address.
	Address string
	// Secret has the contents of secret_files.
	Secret map[string]string
}

var functions = template.FuncMap{
	// json quotes a text as JSON.
	"json": func(text string) (string, error) {
		written, err := json.Marshal(text)
		return string(written), err
	},
	// path escapes a text as one path segment.
	"path": func(text string) (string, error) {
		if text == "." || text == ".." {
			return "", errors.New("a segment of a path must not lead to another folder")
		}
		return url.PathEscape(text), nil
	},
	// code writes a text as a block of code in Markdown, where agents' names mention nobody and link nowhere.
	"code": func(text string) string {
		return "```\n" + strings.ReplaceAll(strings.TrimSpace(text), "`", "'") + "\n```"
	},
}

func parsed(name, text string) (*template.Template, error) {
	return template.New(name).Funcs(functions).Option("missingkey=error").Parse(text)
}

func (c *channel) http(folder string, client *egress.Client) (*httpChannel, error) {
	if c.hasEmail() {
		return nil, errors.New("smtp, from, username and password_file are of email channels")
	}
	made := &httpChannel{client: client, method: http.MethodPost, headers: map[string]*template.Template{}, secrets: map[string]string{}, showMore: c.Content == contentSummary, links: c.Links}
	if c.Method != "" {
		made.method = c.Method
	}
	if !slices.Contains([]string{http.MethodPost, http.MethodPut}, made.method) {
		return nil, errors.New("method must be POST or PUT")
	}
	for name, path := range c.SecretFiles {
		var err error
		if made.secrets[name], err = secret(folder, path); err != nil {
			return nil, fmt.Errorf("secret_files: %s: %w", name, err)
		}
	}
	var err error
	if made.url, err = parsed("url", c.URL); err != nil {
		return nil, err
	}
	if made.body, err = parsed("body", c.Body); err != nil {
		return nil, err
	}
	for name, text := range c.Headers {
		if http.CanonicalHeaderKey(name) == idempotencyKey {
			return nil, errors.New("headers: the service sets Idempotency-Key; a template has the id of the message as {{.ID}}")
		}
		if made.headers[http.CanonicalHeaderKey(name)], err = parsed("headers."+name, text); err != nil {
			return nil, err
		}
	}
	return made, made.check(made.body)
}

// check reports template errors at start-up.
func (c *httpChannel) check(body *template.Template) error {
	_, _, _, err := c.request("address", body, &notify.Message{})
	return err
}

// Kind implements notify.Channel.
func (c *httpChannel) Kind() api.ChannelKind { return api.ChannelHTTP }

// Summary implements notify.Channel.
func (c *httpChannel) Summary() bool { return c.showMore }

// Links implements notify.Channel.
func (c *httpChannel) Links() api.LinkMode { return c.links }

// CheckAddress implements notify.Channel.
func (c *httpChannel) CheckAddress(address string) error {
	if strings.ContainsFunc(address, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return errors.New("must have no spaces and no control characters")
	}
	if _, _, _, err := c.request(address, c.body, &notify.Message{}); err != nil {
		return errors.New("cannot be used in the URL, the headers or the body of this channel")
	}
	return nil
}

// Send implements notify.Channel. Retries have the same Idempotency-Key.
func (c *httpChannel) Send(ctx context.Context, address string, m *notify.Message) error {
	to, header, body, err := c.request(address, c.body, m)
	if err != nil {
		return errUnfilled
	}
	return c.call(ctx, to, header, body)
}

// call sends a request. It returns the errors of Send.
func (c *httpChannel) call(ctx context.Context, to string, header http.Header, body []byte) error {
	answer, err := c.client.Send(ctx, c.method, to, header, body)
	switch {
	case err != nil && ctx.Err() == nil && errors.Is(err, egress.ErrRefused), err != nil && errors.Is(err, egress.ErrPlain):
		return refusedCall("the address may not be called", err)
	case err != nil:
		return errors.New("the receiver cannot be reached")
	case answer.Status == http.StatusNotFound || answer.Status == http.StatusGone:
		return fmt.Errorf("%w: status %d", notify.ErrPermanent, answer.Status)
	case !answer.Taken():
		return refusalOf(answer)
	case refuses(answer.Body):
		return fmt.Errorf("status %d, and ok is false in the answer", answer.Status)
	}
	return nil
}

// refuses reports whether an answer says itself that the message was not taken, as the APIs of Slack and Telegram do.
// A long answer is cut: its members are read one by one, as far as they arrived.
func refuses(body []byte) bool {
	answer := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if start, err := answer.ReadToken(); err != nil || start.Kind() != '{' {
		return false
	}
	for answer.PeekKind() == '"' {
		name, err := answer.ReadToken()
		if err != nil {
			return false
		}
		isOK := name.String() == "ok"
		if isOK && answer.PeekKind() == 'f' {
			return true
		}
		if answer.SkipValue() != nil {
			return false
		}
	}
	return false
}

func (c *httpChannel) request(address string, template *template.Template, m *notify.Message) (to string, header http.Header, body []byte, err error) {
	given := values{
		ID: idOf(m.ID), Kind: m.Kind, Subject: m.Subject, Text: m.Text, Link: m.Link, Code: m.Code, Tool: m.Tool, Agent: m.Agent,
		Deadline: m.Deadline, Digest: m.Digest, Address: address, Secret: c.secrets,
	}
	header = http.Header{idempotencyKey: {given.ID}, "User-Agent": {"holdpoint"}}
	for name, made := range c.headers {
		value, err := fill(made, &given)
		if err != nil {
			return "", nil, nil, err
		}
		// A line break would start another header.
		header.Set(name, strings.Join(strings.Fields(string(value)), " "))
	}
	where, err := fill(c.url, &given)
	if err != nil {
		return "", nil, nil, err
	}
	parsed, err := url.Parse(string(where))
	if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "" {
		return "", nil, nil, errors.New("url must be an http or https URL")
	}
	body, err = fill(template, &given)
	return string(where), header, body, err
}

func fill(made *template.Template, given *values) ([]byte, error) {
	var out bytes.Buffer
	if err := made.Execute(&out, given); err != nil {
		return nil, err
	}
	if out.Len() > maxTemplated {
		return nil, errors.New("a template makes more than 64 KiB")
	}
	return out.Bytes(), nil
}
