//go:build faults

package crash

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/test/pushpeer"
	"github.com/holdpoint/holdpoint/test/rig"
)

// letter is a message to a person. A receiver knows a repetition by its id.
type letter struct{ id, to, text string }

// letterbox takes the messages of all channels, over HTTP and SMTP. While armed, it kills the service
// after it has taken a message and before it answers.
type letterbox struct {
	mu    sync.Mutex
	got   []letter
	armed *rig.Process
	// unanswered are the ids of the messages during which it killed the service.
	unanswered []string
}

// take returns whether it killed the service.
func (l *letterbox) take(one letter) bool {
	l.mu.Lock()
	l.got = append(l.got, one)
	victim := l.armed
	if l.armed = nil; victim != nil {
		l.unanswered = append(l.unanswered, one.id)
	}
	l.mu.Unlock()
	if victim == nil {
		return false
	}
	victim.Kill()
	<-victim.Ended()
	return true
}

func (l *letterbox) arm(victim *rig.Process) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = victim
	return nil
}

// to returns the messages to an address about a text.
func (l *letterbox) to(address, about string) (found []letter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.got {
		if one.to == address && strings.Contains(one.text, about) {
			found = append(found, one)
		}
	}
	return found
}

func (l *letterbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil || l.take(letter{r.Header.Get("Idempotency-Key"), strings.TrimPrefix(r.URL.Path, "/"), string(text)}) {
		panic(http.ErrAbortHandler)
	}
}

// NewSession implements smtp.Backend.
func (l *letterbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &delivery{box: l}, nil }

type delivery struct {
	box *letterbox
	to  string
}

func (d *delivery) Reset()                               {}
func (d *delivery) Logout() error                        { return nil }
func (d *delivery) Mail(string, *smtp.MailOptions) error { return nil }
func (d *delivery) Rcpt(to string, _ *smtp.RcptOptions) error {
	d.to = to
	return nil
}

func (d *delivery) Data(r io.Reader) error {
	message, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(message.Body)
	if err != nil {
		return err
	}
	d.box.take(letter{message.Header.Get("Message-Id"), d.to, string(text)})
	return nil
}

// newLetterbox returns a letterbox, and the file of --channels that sends to it.
func newLetterbox(t *testing.T) (box *letterbox, channels string) {
	t.Helper()
	box = &letterbox{}
	web := httptest.NewServer(box)
	t.Cleanup(web.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := smtp.NewServer(box)
	server.Domain = "localhost"
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		<-served
	})
	channels = filepath.Join(t.TempDir(), "channels.yaml")
	require.NoError(t, os.WriteFile(channels, fmt.Appendf(nil, `
channels:
  mail: {kind: email, smtp: "smtp://%s", from: holdpoint@example.com}
  ops: {kind: http, url: "%s/{{path .Address}}", body: "{{.Text}}"}
`, listener.Addr(), web.URL), 0o600))
	return box, channels
}

var (
	codeOfAddress = regexp.MustCompile(`Code: (\d{6})`)
	linkOfLetter  = regexp.MustCompile(`https://holdpoint\.example(/l/hplink_\w+)`)
)

// acceptedBy puts the messages of a browser into the letterbox. The topic is their id: a browser shows the last message
// of a topic.
func (l *letterbox) acceptedBy(address string) func(pushpeer.Message) {
	return func(m pushpeer.Message) {
		if l.take(letter{m.Topic, address, m.Body + "\n" + m.Navigate}) {
			panic(http.ErrAbortHandler)
		}
	}
}

// TestMessagesOfAKilledService kills the service at each step between a raised request and the record
// of the message about it: after each of the commits, before the message is sent, while the receiver
// takes it, and before the result is recorded. Each person gets the message at least once, and all
// repetitions have one id. Every link works.
func TestMessagesOfAKilledService(t *testing.T) {
	rig.Databases(t, func(t *testing.T, database string) {
		box, channels := newLetterbox(t)
		pushes := pushpeer.Start(t)
		service := &replica{plan: t.TempDir() + "/plan"}
		service.Process = rig.Start(t, rig.Options{
			Program: rig.Program(t, "failpoints"), Database: database, Env: []string{failpoint.Variable + "=" + service.plan},
			Args: []string{"--channels", channels, "--notify-after", "1s", "--external-url", "https://holdpoint.example", "--webhook-allow", "127.0.0.0/8", "--push-key-file", t.TempDir() + "/push-key"},
		})
		root, err := service.ConnectPatiently().CreateToken(t.Context(), api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
		require.NoError(t, err)
		patiently := client.WithRetry(client.RetryPolicy{MaxAttempts: 1_000, MaxDelay: time.Second})
		admin := service.Connect(client.WithToken(root.Secret), patiently)
		rounds := []round{
			{"ops", "door.committed 1"}, // the raised request
			{"ops", "door.committed 2"}, // the claim of the effect that finds the people
			{"ops", "door.decided 3"},
			{"ops", "door.committed 3"}, // the effect of the message
			{"ops", "webhooks.claimed 1"},
			{"ops", "webhooks.notified 1"},
			{"mail", "webhooks.notified 1"},
			{"ops", "door.committed 5"}, // the result
			{"ops", ""},
			{"mail", ""},
			{api.PushChannel, "webhooks.notified 1"},
			{api.PushChannel, ""},
		}
		people := make([]string, len(rounds))
		for i := range rounds {
			people[i] = rounds[i].person(t, service, admin, box, pushes, i)
		}
		for i, one := range rounds {
			ctx := rig.Soon(t)
			if one.plan == "" {
				require.NoError(t, box.arm(service.Process))
			} else {
				require.NoError(t, service.arm("kill "+one.plan))
			}
			raised := make(chan error, 1)
			go func() {
				_, err := admin.CreateRun(ctx, client.CreateRunParams{
					SessionID: sessionOf(i), RunID: runOf(sessionOf(i)), Input: "work", Suspend: approvals(1),
				})
				raised <- err
			}()
			select {
			case <-service.Ended():
			case <-ctx.Done():
				require.Fail(t, "the service does not die", one)
			}
			_ = os.Remove(service.plan)
			require.NoError(t, service.Restart())
			require.NoError(t, service.AwaitReady())
			require.NoError(t, <-raised)
		}
		require.Eventually(t, func() bool {
			for i := range rounds {
				if len(box.to(people[i], "Agent ")) == 0 {
					return false
				}
			}
			return true
		}, 4*time.Minute, 50*time.Millisecond, "everyone gets a message")
		nothingOwed(t, admin)
		seen := map[string]bool{}
		for i, one := range rounds {
			letters := box.to(people[i], "Agent ")
			require.NotEmpty(t, letters[0].id)
			require.False(t, seen[letters[0].id], "each message has an id of its own")
			seen[letters[0].id] = true
			for _, again := range letters {
				require.Equal(t, letters[0].id, again.id, one)
				if one.channel != api.PushChannel { // its link is the inbox
					opens(t, service, again)
				}
			}
		}
		for _, unanswered := range box.unanswered {
			require.Greater(t, box.times(unanswered), 1, "the receiver did not answer the first")
		}
		require.Len(t, box.unanswered, 3)
		require.Empty(t, effects(t.Context(), t, admin, api.EffectFailed))
		rig.RequireHealthy(t, database)
	})
}

// round is a kill, by a failpoint or else by the receiver, around a message on a channel.
type round struct{ channel, plan string }

// sessionOf returns a session that is the prefix of no other.
func sessionOf(i int) string { return fmt.Sprintf("s-%02d", i) }

// person makes the person who gets the message of a round, and returns their address.
func (r round) person(t *testing.T, service *replica, admin *client.Client, box *letterbox, pushes *pushpeer.Service, i int) string {
	t.Helper()
	token, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: fmt.Sprintf("person-%d", i), Role: api.RoleOperator, SessionPrefixes: []string{sessionOf(i)}})
	require.NoError(t, err)
	person := service.Connect(client.WithToken(token.Secret))
	address := fmt.Sprintf("person-%d@example.com", i)
	if r.channel == api.PushChannel {
		view, err := person.GetPush(t.Context())
		require.NoError(t, err)
		browser := pushes.Browser(view.PublicKey)
		browser.Accepted(box.acceptedBy(address))
		_, err = person.SubscribePush(t.Context(), browser.Subscription())
		require.NoError(t, err)
		return address
	}
	added, err := person.AddAddress(t.Context(), api.AddressBody{Channel: r.channel, Address: address})
	require.NoError(t, err)
	_, err = person.VerifyAddress(t.Context(), added.AddressID, codeOfAddress.FindStringSubmatch(box.to(address, "Code: ")[0].text)[1])
	require.NoError(t, err)
	return address
}

// times returns how often a message came.
func (l *letterbox) times(id string) (count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.got {
		if one.id == id {
			count++
		}
	}
	return count
}

// opens requires that the link of a message shows the request.
func opens(t *testing.T, service *replica, one letter) {
	t.Helper()
	found := linkOfLetter.FindStringSubmatch(strings.ReplaceAll(one.text, "=\r\n", ""))
	require.NotNil(t, found, one.text)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, service.URL()+found[1], http.NoBody)
	require.NoError(t, err)
	reply, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, reply.StatusCode)
	require.Contains(t, string(text), "deploy")
}
