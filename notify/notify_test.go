package notify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/notify/channels"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
	"github.com/holdpoint/holdpoint/webhooks/deliver"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

func TestMain(m *testing.M) {
	rig.ManyAtOnce()
	rig.Main(m)
}

// inbox has what came for people, over HTTP and SMTP.
type inbox struct {
	mu       sync.Mutex
	messages []string
	status   int    // of HTTP
	smtpCode int    // of a refused recipient; 0 takes all
	refuses  string // the one recipient that is refused
	// unconfirmed is how many mails are taken and answered with a failure.
	unconfirmed int
	hangs       bool
	done        chan struct{}
}

func (i *inbox) add(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.messages = append(i.messages, text)
}

func (i *inbox) all() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.messages)
}

func (i *inbox) set(change func(*inbox)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(i)
}

// about returns the messages with a text.
func (i *inbox) about(text string) []string {
	return slices.DeleteFunc(i.all(), func(message string) bool { return !strings.Contains(message, text) })
}

func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	i.mu.Lock()
	status, hangs := i.status, i.hangs
	i.mu.Unlock()
	if hangs {
		<-i.done
		return
	}
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	i.add(r.Header.Get("Idempotency-Key") + "\n" + r.URL.Path + "\n" + string(text))
}

// NewSession implements smtp.Backend.
func (i *inbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{inbox: i}, nil }

type session struct {
	inbox *inbox
	to    string
}

func (s *session) Reset()                               {}
func (s *session) Logout() error                        { return nil }
func (s *session) Mail(string, *smtp.MailOptions) error { return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	if s.inbox.smtpCode == 0 && s.inbox.refuses == to {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.NoEnhancedCode, Message: "no such user " + to}
	}
	if s.inbox.smtpCode != 0 {
		return &smtp.SMTPError{Code: s.inbox.smtpCode, EnhancedCode: smtp.NoEnhancedCode, Message: "no such user " + to}
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err == nil {
		s.inbox.add("To: " + s.to + "\n" + string(text))
	}
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	if s.inbox.unconfirmed > 0 {
		s.inbox.unconfirmed--
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.NoEnhancedCode, Message: "later"}
	}
	return err
}

// service is a service with a channel of each kind.
type service struct {
	*inprocess.Service
	client   *client.Client
	database string
	http     *inbox
	mail     *inbox
	log      *safeBuffer
	// ahead is how far the clock of addresses and links is ahead, in milliseconds, and later how far that of
	// a database in memory.
	ahead, later atomic.Int64
}

func (s *service) recordOf(t *testing.T, runID string) *model.RunRecord {
	t.Helper()
	record, err := s.Store.Run(t.Context(), runID)
	require.NoError(t, err)
	return record
}

func (s *service) effects(t *testing.T, q reads.EffectQuery) []model.Effect {
	t.Helper()
	effects, err := s.Store.Effects(t.Context(), q)
	require.NoError(t, err)
	return effects
}

type safeBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *safeBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

func (b *safeBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// storeAs returns a store as the part of it that notifications use.
func storeAs[Part any](t *testing.T, store any) Part {
	t.Helper()
	part, is := store.(Part)
	require.True(t, is)
	return part
}

// loopback lets the service call this machine.
var loopback = egress.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func start(t *testing.T, database string, after time.Duration, closed bool, change ...func(*inprocess.Options)) *service {
	t.Helper()
	s := &service{database: database, http: &inbox{done: make(chan struct{})}, mail: &inbox{done: make(chan struct{})}, log: &safeBuffer{}}
	receiver := httptest.NewServer(s.http)
	t.Cleanup(receiver.Close)
	t.Cleanup(func() { close(s.http.done) })
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := smtp.NewServer(s.mail)
	server.Domain = "localhost"
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		if err := <-served; !errors.Is(err, smtp.ErrServerClosed) {
			require.NoError(t, err)
		}
	})
	file := filepath.Join(t.TempDir(), "channels.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "token"), []byte("s3cret-token\n"), 0o600))
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
channels:
  mail: {kind: email, smtp: "smtp://%s", from: "holdpoint <holdpoint@example.com>", content: summary, links: code}
  ops:
    kind: http
    url: %s/{{path .Address}}
    headers: {Authorization: "Bearer {{.Secret.token}}", Title: "{{.Subject}}"}
    body: "{{.Subject}}\n{{.Text}}"
    secret_files: {token: token}
`, listener.Addr(), receiver.URL), 0o600))
	caller := egress.New(egress.Options{Guard: loopback})
	t.Cleanup(caller.Close)
	loaded, err := channels.Load(file, caller)
	require.NoError(t, err)
	options := inprocess.Options{
		Channels: loaded, ExternalURL: "https://holdpoint.example", WebhookGuard: loopback, Closed: closed,
		Store: store.Options{NotifyAfter: after}, Logger: s.log.logger(),
		NowMs: func() int64 { return time.Now().UnixMilli() + s.ahead.Load() },
	}
	for _, one := range change {
		one(&options)
	}
	s.Service = inprocess.Start(t, database, options)
	if !closed {
		s.client = s.Connect()
	}
	return s
}

var codeLine = regexp.MustCompile(`Code: (\d{6})`)

// verified adds an address of a caller and verifies it.
func (s *service) verified(t *testing.T, c *client.Client, channel, address string, came *inbox) *api.Address {
	t.Helper()
	added, err := c.AddAddress(t.Context(), api.AddressBody{Channel: channel, Address: address})
	require.NoError(t, err)
	texts := came.about("Code: ")
	code := codeLine.FindStringSubmatch(texts[len(texts)-1])[1]
	done, err := c.VerifyAddress(t.Context(), added.AddressID, code)
	require.NoError(t, err)
	require.Positive(t, done.VerifiedAtMs)
	return done
}

// raise makes a run that waits for approvals with those ids.
func raise(t *testing.T, c *client.Client, session string, ids ...string) string {
	t.Helper()
	suspension := &api.Suspension{}
	for _, id := range ids {
		suspension.Approvals = append(suspension.Approvals, api.ApprovalRequest{
			ID: id, ToolName: "deploy\r\nBcc: eve@example.com", ToolCallID: id, Input: api.JSON(`{"password":"hunter2"}`),
		})
	}
	made, err := c.CreateRun(t.Context(), client.CreateRunParams{SessionID: session, AgentID: "coder", Input: "work", Suspend: suspension})
	require.NoError(t, err)
	return made.RunID
}

func (s *service) events(t *testing.T, runID string) (types []string) {
	t.Helper()
	events, _, err := s.Store.EventsWithin(t.Context(), reads.EventQuery{RunID: runID, Limit: 1000, MaxBytes: 1 << 20})
	require.NoError(t, err)
	for i := range events {
		types = append(types, string(events[i].Type))
	}
	return types
}

// as returns a client with a new token.
func (s *service) as(t *testing.T, body api.CreateTokenBody) (tokenID string, c *client.Client) {
	t.Helper()
	made, _, err := s.Keyring.Create(t.Context(), &body, "user:test", "")
	require.NoError(t, err)
	return made.Token.TokenID, s.Connect(client.WithToken(made.Secret))
}

// refused requires a refusal with this code.
func refused(t *testing.T, err error, code api.Code) *client.Error {
	t.Helper()
	var problem *client.Error
	require.ErrorAs(t, err, &problem)
	require.Equal(t, code, problem.Code)
	return problem
}

// eventually waits for something. On a busy machine attempts run out of time and are repeated after a pause, so a minute without
// it is not a hang yet.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	require.Eventually(t, done, 5*time.Minute, 10*time.Millisecond, what)
}

// healthy looks whether the rows keep the invariants.
func (s *service) healthy(t *testing.T) {
	t.Helper()
	walker, is := s.Store.(model.Walker)
	require.True(t, is)
	summary, err := doctor.Examine(context.Background(), walker, func(f doctor.Finding) { t.Errorf("%+v", f) })
	require.NoError(t, err)
	require.True(t, summary.Healthy())
}

// onEngines runs a test on an empty database of each engine, next to others.
func onEngines(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, inprocess.Memory)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, postgrestest.URL(t))
	})
}

// A person with one address gets one message for a request, with its link and without its input.
func TestAPersonIsTold(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, false)
		s.verified(t, s.client, "mail", "ada@example.com", s.mail)
		runID := raise(t, s.client, "s", "a")
		eventually(t, "the mail", func() bool { return len(s.mail.about("Agent coder")) > 0 })
		mail := s.mail.about("Agent coder")[0]
		require.Contains(t, mail, "To: ada@example.com")
		require.Contains(t, mail, "https://holdpoint.example/l/hplink_")
		require.Regexp(t, `\nCode: \d{4}\r\n`, mail)
		require.Contains(t, mail, "Auto-Submitted: auto-generated")
		require.Contains(t, mail, "Input digest: ")
		require.NotContains(t, mail, "hunter2")
		require.NotContains(t, mail, "\nBcc:", "an agent chooses the tool's name")
		require.Contains(t, s.events(t, runID), "request_notified")

		// A settled request, and one that is settled before it is due, say nothing more.
		quiet := raise(t, s.client, "quiet", "b")
		_, err := s.client.ResolveRunApprovals(t.Context(), quiet, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "b", Behavior: api.BehaviorAllow}}})
		require.NoError(t, err)
		eventually(t, "what was to be told is done", func() bool {
			pending, err := s.client.ListEffects(t.Context(), client.EffectListParams{State: api.EffectPending})
			require.NoError(t, err)
			return len(pending.Items) == 0
		})
		require.Len(t, s.mail.about("Agent coder"), 1)
		require.NotContains(t, s.events(t, quiet), "request_notified")
		require.NotContains(t, s.log.text(), "ada@example.com", "addresses are in no log")
		require.NotContains(t, s.log.text(), "s3cret-token")
		s.healthy(t)
	})
}

// Who may not decide, and whose token was revoked, is told nothing.
func TestOnlyThoseWhoMayDecideAreTold(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		as := func(name string, body api.CreateTokenBody) (tokenID string, c *client.Client) {
			body.Name = name
			return s.as(t, body)
		}
		_, maker := as("maker", api.CreateTokenBody{Role: api.RoleAgent})
		_, admin := as("root", api.CreateTokenBody{Role: api.RoleAdmin})
		gone, left := as("gone", api.CreateTokenBody{Role: api.RoleOperator})
		_, elsewhere := as("elsewhere", api.CreateTokenBody{Role: api.RoleOperator, SessionPrefixes: []string{"other-"}})
		_, observer := as("observer", api.CreateTokenBody{Role: api.RoleObserver})
		_, err := observer.AddAddress(t.Context(), api.AddressBody{Channel: "ops", Address: "observer"})
		require.ErrorIs(t, err, client.ErrForbidden)
		for name, c := range map[string]*client.Client{"root": admin, "gone": left, "elsewhere": elsewhere} {
			s.verified(t, c, "ops", name, s.http)
		}
		// One that is not verified gets nothing.
		_, err = admin.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: "root@example.com"})
		require.NoError(t, err)
		require.NoError(t, s.Keyring.Revoke(t.Context(), gone, true))

		as("silent", api.CreateTokenBody{Role: api.RoleOperator})
		runID := raise(t, maker, "s", "a")
		eventually(t, "the message", func() bool { return len(s.http.about("Agent coder")) > 0 })
		run, err := admin.GetRun(t.Context(), runID)
		require.NoError(t, err)
		explained, err := admin.ExplainRequest(t.Context(), run.PendingApprovals[0].Handle)
		require.NoError(t, err)
		require.Equal(t, []api.ExplainedNotReached{{Who: "user:silent", WhyNot: runs.WhyNoAddress}}, explained.NotReached)
		raise(t, maker, "other-1", "b")
		eventually(t, "the messages", func() bool { return len(s.http.about("Agent coder")) == 3 })
		require.Len(t, slices.DeleteFunc(s.http.about("Agent coder"), func(m string) bool { return !strings.Contains(m, "/root\n") }), 2)
		require.Len(t, slices.DeleteFunc(s.http.about("Agent coder"), func(m string) bool { return !strings.Contains(m, "/elsewhere\n") }), 1)
		require.Len(t, s.mail.all(), 1, "the code alone")
	})
}

// A hundred requests at once are five messages and one that counts the rest.
func TestAFloodIsCounted(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, false)
		s.verified(t, s.client, "ops", "ada", s.http)
		var ids []string
		for n := range 100 {
			ids = append(ids, fmt.Sprintf("a-%03d", n))
		}
		raise(t, s.client, "s", ids...)
		for before := 0; before < 100; {
			eventually(t, "one more message is sent or counted", func() bool {
				done, err := s.client.ListEffects(t.Context(), client.EffectListParams{State: api.EffectDone, WebhookID: model.NoticeWebhookID("ops"), PageParams: client.PageParams{Limit: 100}})
				if err != nil || len(done.Items) <= before {
					return false
				}
				before = len(done.Items)
				return true
			})
		}
		single, counts := len(s.http.about("Agent coder")), len(s.http.about("requests are open."))
		t.Logf("100 requests: %d messages about one, %d that count", single, counts)
		require.NoError(t, floodIsBounded(single, counts))
		require.NotEmpty(t, s.http.about("100 requests are open."))
	})
}

// A message is counted when it is first about to be sent, whichever attempt that is. A repeated attempt
// keeps its number.
func TestAMessageIsCountedOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, false)
		stored := storeAs[notify.Store](t, s.Store)
		counted := func(principal string, nowMs int64, messages ...string) (numbers []int64) {
			for _, message := range messages {
				number, _, err := stored.CountNotice(t.Context(), principal, &notify.NoticeToCount{ID: message}, nowMs)
				require.NoError(t, err)
				numbers = append(numbers, number)
			}
			return numbers
		}
		require.Equal(t, []int64{1, 2, 1, 3, 4, 5, 2}, counted("user:ada", 1, "m1", "m2", "m1", "m3", "m4", "m5", "m2"))
		require.Equal(t, []int64{6, 0, 6, 0, 5}, counted("user:ada", api.FloodMs, "m6", "m7", "m6", "m7", "m5"))
		number, holdMs, err := stored.CountNotice(t.Context(), "user:ada", &notify.NoticeToCount{ID: "m8"}, api.FloodMs-1)
		require.NoError(t, err)
		require.Equal(t, []int64{0, 0}, []int64{number, holdMs}, "m6 counts it, and was dated at the same time")
		require.Equal(t, []int64{1}, counted("user:ben", 1, "m"), "m1 is another message")
		require.Equal(t, []int64{1, 2}, counted("user:ada", api.FloodMs+1, "m7", "m1"))
		// A clock that was a day ahead silences nobody for that day.
		require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 0}, counted("user:cyd", 86_400_000, "m1", "m2", "m3", "m4", "m5", "m6", "m7"))
		require.Equal(t, []int64{0}, counted("user:cyd", 86_400_000-api.FloodMs, "m8"))
		require.Equal(t, []int64{1}, counted("user:cyd", 1, "m9"))
	})
}

// A channel that hangs holds up no other, and what is given up is an event and can be sent again.
func TestAChannelThatFails(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		_, ada := s.as(t, api.CreateTokenBody{Name: "ada", Role: api.RoleAdmin})
		_, ben := s.as(t, api.CreateTokenBody{Name: "ben", Role: api.RoleAdmin})
		s.verified(t, ada, "ops", "ada", s.http)
		s.verified(t, ben, "mail", "ben@example.com", s.mail)
		s.http.set(func(i *inbox) { i.status = http.StatusGone })
		runID := raise(t, ada, "s", "a")
		eventually(t, "the failure is an event", func() bool { return slices.Contains(s.events(t, runID), "notification_failed") })
		eventually(t, "the other is told", func() bool { return len(s.mail.about("Agent coder")) == 1 })
		channels, err := ada.ListChannels(t.Context())
		require.NoError(t, err)
		require.Equal(t, api.Channel{Name: "ops", Kind: api.ChannelHTTP, Links: api.LinkSignIn, Failed: 1, LastError: "given up: status 410"}, channels.Data[1])
		s.http.set(func(i *inbox) { i.status = 0 })
		failed, err := ada.ListEffects(t.Context(), client.EffectListParams{State: api.EffectFailed})
		require.NoError(t, err)
		require.Len(t, failed.Items, 1)
		_, err = ada.RetryEffect(t.Context(), failed.Items[0].SessionID, failed.Items[0].EffectID)
		require.NoError(t, err)
		eventually(t, "it is sent again", func() bool { return len(s.http.about("Agent coder")) == 1 })

		// A mailbox that is not there is final; what the server said of it is in no log.
		s.mail.set(func(i *inbox) { i.smtpCode = 550 })
		s.http.set(func(i *inbox) { i.hangs = true })
		runID = raise(t, ada, "s2", "b")
		eventually(t, "the failure is an event", func() bool { return slices.Contains(s.events(t, runID), "notification_failed") })
		require.NotContains(t, s.log.text(), "ben@example.com")
		// One that says "later" is tried again.
		s.mail.set(func(i *inbox) { i.smtpCode = 451 })
		raise(t, ada, "s3", "c")
		request, err := ada.GetRun(t.Context(), runID)
		require.NoError(t, err)
		explained, err := ada.ExplainRequest(t.Context(), request.PendingApprovals[0].Handle)
		require.NoError(t, err)
		require.Equal(t, api.NoticeFailed, explained.Notified[1].State)
		require.Equal(t, "user:ben", explained.Notified[1].Who)
		require.Contains(t, explained.Text, "ben (mail, not reached, given up ")
		require.NotContains(t, explained.Text, "example.com", "an address is its owner's")
		eventually(t, "it is to be tried again", func() bool {
			pending, err := ada.ListEffects(t.Context(), client.EffectListParams{State: api.EffectPending, WebhookID: model.NoticeWebhookID("mail")})
			require.NoError(t, err)
			return len(pending.Items) == 1 && pending.Items[0].LastError == "the mail server answered 451"
		})
		// A replica without the channel finds the message once it has been due for long.
		stored, is := s.Store.(deliver.Store)
		require.True(t, is)
		for known, count := range map[string]int{"ops": 1, "mail": 0} {
			orphans, err := stored.OrphanNotices(t.Context(), []string{"ops", known}, -time.Hour.Milliseconds(), 10)
			require.NoError(t, err)
			require.Len(t, orphans, count, known)
			orphans, err = stored.OrphanNotices(t.Context(), []string{"ops", known}, time.Hour.Milliseconds(), 10)
			require.NoError(t, err)
			require.Empty(t, orphans, "another replica may still send it")
		}
		s.healthy(t)
	})
}

// A code works five times and for its owner; nobody can have many sent.
func TestCodesOfAddresses(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, false)
		added, err := s.client.AddAddress(t.Context(), api.AddressBody{Channel: "ops", Address: "ada"})
		require.NoError(t, err)
		_, err = s.client.AddAddress(t.Context(), api.AddressBody{Channel: "ops", Address: "ada"})
		require.ErrorContains(t, err, string(api.CodeTooManyCodes), "a code a minute")
		require.Len(t, s.http.all(), 1)
		code := codeLine.FindStringSubmatch(s.http.all()[0])[1]
		for n, left := range []string{"4 tries left", "3 tries left", "2 tries left", "1 try left", "add the address again", "add the address again"} {
			_, err = s.client.VerifyAddress(t.Context(), added.AddressID, "wrong")
			require.ErrorContains(t, err, string(api.CodeAddressCodeWrong))
			require.ErrorContains(t, err, left)
			var refused *client.Error
			require.ErrorAs(t, err, &refused)
			require.NotNil(t, refused.Left)
			require.EqualValues(t, max(4-n, 0), *refused.Left)
		}
		_, err = s.client.VerifyAddress(t.Context(), added.AddressID, code)
		require.ErrorContains(t, err, string(api.CodeAddressCodeWrong), "it was tried too often")
		for n := 1; n < api.MaxAddresses; n++ {
			_, err = s.client.AddAddress(t.Context(), api.AddressBody{Channel: "ops", Address: fmt.Sprint("ada-", n)})
			require.NoError(t, err)
		}
		_, err = s.client.AddAddress(t.Context(), api.AddressBody{Channel: "ops", Address: "one more"})
		require.ErrorIs(t, err, client.ErrInvalid)
		_, err = s.client.AddAddress(t.Context(), api.AddressBody{Channel: "ops", Address: "one-more"})
		require.ErrorContains(t, err, string(api.CodeTooManyAddresses))
		_, err = s.client.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: "ada@example.com\r\nBcc: eve@example.com"})
		require.ErrorIs(t, err, client.ErrInvalid)
		for _, bad := range []string{"ada", "Ada <ada@example.com>", "a@b.example, c@d.example"} {
			_, err = s.client.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: bad})
			require.ErrorIs(t, err, client.ErrInvalid, bad)
		}
		_, err = s.client.AddAddress(t.Context(), api.AddressBody{Channel: "pigeon", Address: "ada"})
		require.ErrorContains(t, err, string(api.CodeChannelUnknown))
		require.ErrorContains(t, err, "no such channel; this service has mail, ops")
		require.NoError(t, s.client.RemoveAddress(t.Context(), added.AddressID))
		require.ErrorIs(t, s.client.RemoveAddress(t.Context(), added.AddressID), client.ErrNotFound)
		_, err = s.client.VerifyAddress(t.Context(), added.AddressID, code)
		require.ErrorIs(t, err, client.ErrNotFound)
		s.http.set(func(i *inbox) { i.status = http.StatusInternalServerError })
		_, err = s.client.AddAddress(t.Context(), api.AddressBody{Channel: "ops", Address: "ben"})
		require.ErrorContains(t, err, string(api.CodeChannelUnavailable))
		tested, err := s.client.TestChannel(t.Context(), "ops", "ada")
		require.NoError(t, err)
		require.Equal(t, &api.ChannelTest{Error: "status 500"}, tested)
	})
}
