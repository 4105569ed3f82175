package notify_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

var (
	linkLine   = regexp.MustCompile(`https://holdpoint\.example(/l/\S+)`)
	linkCode   = regexp.MustCompile(`(?m)^Code: (\d{4})\r?$`)
	digestOf   = regexp.MustCompile(`name="input_digest" value="([^"]+)"`)
	secretPart = regexp.MustCompile(`hplink_\w{10}`)
)

// letter is a message with a link.
type letter struct {
	path, code, text string
}

// letters returns what the messages say that came by mail, oldest first.
func (s *service) letters(t *testing.T, about string) (all []letter) {
	t.Helper()
	for _, raw := range s.mail.all() {
		message, err := mail.ReadMessage(strings.NewReader(raw))
		require.NoError(t, err)
		text, err := io.ReadAll(quotedprintable.NewReader(message.Body))
		require.NoError(t, err)
		if !strings.Contains(string(text), about) {
			continue
		}
		found := letter{text: string(text)}
		if link := linkLine.FindStringSubmatch(found.text); link != nil {
			found.path = link[1]
		}
		if code := linkCode.FindStringSubmatch(found.text); code != nil {
			found.code = code[1]
		}
		all = append(all, found)
	}
	return all
}

// page is the reply of a link.
type page struct {
	status int
	header http.Header
	text   string
}

// load sends a request to a link; a form makes it a press on a page of the service.
func (s *service) load(t *testing.T, method, path string, form url.Values, headers ...string) page {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		// Chromium sends these of a form on a page with the referrer policy no-referrer.
		request.Header.Set("Origin", "null")
		request.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	reply, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	return page{reply.StatusCode, reply.Header, string(text)}
}

// press sends the form of a page.
func (s *service) press(t *testing.T, l letter, code, decision, digest string) page {
	t.Helper()
	return s.load(t, http.MethodPost, l.path, url.Values{"code": {code}, "decision": {decision}, "input_digest": {digest}})
}

// linked is a closed service with a person, Ada, who gets links with codes by mail, and a worker.
type linked struct {
	*service
	ada, worker *client.Client
	adaToken    string
	address     *api.Address
}

func startLinked(t *testing.T, database string) *linked {
	t.Helper()
	s := &linked{service: start(t, database, time.Millisecond, true)}
	s.adaToken, s.ada = s.as(t, api.CreateTokenBody{Name: "ada", Role: api.RoleOperator})
	_, s.worker = s.as(t, api.CreateTokenBody{Name: "coder", Role: api.RoleAgent})
	s.address = s.verified(t, s.ada, "mail", "ada@example.com", s.mail)
	return s
}

// asks raises an approval and returns Ada's mail about it, and the run.
func (s *linked) asks(t *testing.T, session string) (letter, string) {
	t.Helper()
	before := len(s.letters(t, "Agent coder"))
	runID := raise(t, s.worker, session, "a")
	eventually(t, "the mail", func() bool { return len(s.letters(t, "Agent coder")) > before })
	all := s.letters(t, "Agent coder")
	last := all[len(all)-1]
	require.NotEmpty(t, last.path, last.text)
	require.NotEmpty(t, last.code, last.text)
	require.NotContains(t, last.path, last.code)
	return last, runID
}

// waits reports that nothing was decided.
func (s *linked) waits(t *testing.T, runID string) {
	t.Helper()
	run, err := s.worker.GetRun(t.Context(), runID)
	require.NoError(t, err)
	require.Equal(t, api.StatusWaitingForApproval, run.Status)
	require.Len(t, run.PendingApprovals, 1)
}

// dead checks that a link has the one page of those that do not work.
func (s *linked) dead(t *testing.T, l letter, why string) {
	t.Helper()
	unknown := s.load(t, http.MethodGet, "/l/"+auth.NewLinkSecret(), nil)
	require.Equal(t, http.StatusNotFound, unknown.status)
	for _, got := range []page{s.load(t, http.MethodGet, l.path, nil), s.press(t, l, l.code, "", ""), s.press(t, l, l.code, "deny", "x")} {
		require.Equal(t, http.StatusNotFound, got.status, why)
		require.Equal(t, unknown.text, got.text, why)
	}
}

// Opening a link changes nothing and shows the tool and the deadline alone. With the code, its person sees the
// whole input and decides once.
func TestALinkIsDecidedByItsCode(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := startLinked(t, database)
		mail, runID := s.asks(t, "s")
		before := s.events(t, runID)
		for range 10 {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				got := s.load(t, method, mail.path, nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
				require.Equal(t, http.StatusOK, got.status)
				require.Equal(t, "no-store", got.header.Get("Cache-Control"))
				require.Equal(t, "no-referrer", got.header.Get("Referrer-Policy"))
				require.Contains(t, got.header.Get("X-Robots-Tag"), "noindex")
				require.Regexp(t, `^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$`, got.header.Get("Content-Security-Policy"))
				for _, hidden := range []string{"hunter2", "password", "Allow", "coder", mail.code, "<script"} {
					require.NotContains(t, got.text, hidden)
				}
				require.Equal(t, method == http.MethodGet, strings.Contains(got.text, "Approval needed: deploy"))
			}
			empty := s.press(t, mail, "", "allow", "x")
			require.Equal(t, http.StatusUnprocessableEntity, empty.status)
		}
		require.Equal(t, before, s.events(t, runID))
		s.waits(t, runID)

		read := s.press(t, mail, mail.code, "", "")
		require.Equal(t, http.StatusOK, read.status)
		require.Contains(t, read.text, "&#34;password&#34;: &#34;hunter2&#34;")
		require.Contains(t, read.text, "coder")
		digest := digestOf.FindStringSubmatch(read.text)[1]
		require.Equal(t, before, s.events(t, runID), "reading is not on record")

		require.Equal(t, http.StatusUnprocessableEntity, s.press(t, mail, mail.code, "allow", "").status, "nothing unread is allowed")
		require.Equal(t, http.StatusUnprocessableEntity, s.press(t, mail, mail.code, "always", digest).status)
		changed := s.press(t, mail, mail.code, "allow", "sha256:"+strings.Repeat("0", 64))
		require.Equal(t, http.StatusConflict, changed.status)
		require.Contains(t, changed.text, "Read it again")
		s.waits(t, runID)

		done := s.press(t, mail, mail.code, "allow", digest)
		require.Equal(t, http.StatusOK, done.status)
		require.Contains(t, done.text, "You allowed deploy")
		decisions, err := s.ada.ListDecisions(t.Context(), client.DecisionListParams{})
		require.NoError(t, err)
		require.Len(t, decisions.Items, 1)
		resolution := decisions.Items[0].Resolution
		require.Equal(t, api.OutcomeAllowed, resolution.Outcome)
		require.Equal(t, "user:ada", resolution.ResolvedBy)
		require.Equal(t, "link:email", resolution.Via)
		s.dead(t, mail, "it was used")

		unread, _ := s.asks(t, "denied")
		done = s.load(t, http.MethodPost, unread.path, url.Values{"code": {unread.code}, "decision": {"deny"}})
		require.Equal(t, http.StatusOK, done.status, "a denial needs no digest")
		require.Contains(t, done.text, "You denied deploy")
		s.dead(t, unread, "it was used")
		require.NotRegexp(t, secretPart, s.log.text(), "links are in no log")
		s.healthy(t)
	})
}

// A form is taken from a page of the service alone, as a form, and with a bounded size.
func TestFormsOfLinks(t *testing.T) {
	t.Parallel()
	s := startLinked(t, inprocess.Memory)
	mail, runID := s.asks(t, "s")
	form := url.Values{"code": {mail.code}}
	for _, foreign := range [][]string{
		{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		{"Origin", "null", "Sec-Fetch-Site", "cross-site"},
		{"Origin", "null", "Sec-Fetch-Site", "same-site"},
		{"Origin", "null", "Sec-Fetch-Site", ""},
		{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"},
	} {
		require.Equal(t, http.StatusForbidden, s.load(t, http.MethodPost, mail.path, form, foreign...).status, "%v", foreign)
	}
	require.Equal(t, http.StatusUnsupportedMediaType, s.load(t, http.MethodPost, mail.path, form, "Content-Type", "application/json").status)
	form.Set("reason", strings.Repeat("x", 65<<10))
	require.Equal(t, http.StatusRequestEntityTooLarge, s.load(t, http.MethodPost, mail.path, form).status)
	for _, field := range []string{"text", "reason", "answer", "code"} {
		form := url.Values{"code": {mail.code}, "decision": {"deny"}}
		form.Set(field, "a\xffb")
		require.Equal(t, http.StatusBadRequest, s.load(t, http.MethodPost, mail.path, form).status, field)
	}
	digest := digestOf.FindStringSubmatch(s.press(t, mail, mail.code, "", "").text)[1]
	for field, values := range map[string][]string{"decision": {"allow", "deny"}, "code": {mail.code, "wrong"}, "input_digest": {digest, digest}} {
		for range 2 * api.LinkCodeTries {
			form := url.Values{"code": {mail.code}, "decision": {"allow"}, "input_digest": {digest}}
			form[field] = values
			require.Equal(t, http.StatusBadRequest, s.load(t, http.MethodPost, mail.path, form).status, field)
			slices.Reverse(values)
		}
	}
	require.Equal(t, http.StatusMethodNotAllowed, s.load(t, http.MethodDelete, mail.path, nil).status)
	require.Equal(t, http.StatusNotFound, s.load(t, http.MethodGet, mail.path+"/x", nil).status)
	require.Equal(t, http.StatusOK, s.press(t, mail, mail.code, "", "").status, "none of these was a try")
	s.waits(t, runID)
	require.NotRegexp(t, secretPart, s.log.text())
}

// atOnce calls a function that many times at once, and returns how often it was true.
func atOnce(times int, try func(i int) bool) int {
	var calls sync.WaitGroup
	var yes atomic.Int64
	for i := range times {
		calls.Go(func() {
			if try(i) {
				yes.Add(1)
			}
		})
	}
	calls.Wait()
	return int(yes.Load())
}

// A person has twenty tries for all links together, however many links are tried at once.
func TestGuessesOverManyLinks(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := startLinked(t, database)
		mail, _ := s.asks(t, "s")
		links := storeAs[notify.LinkStore](t, s.Store)
		known, err := links.LinkByHash(t.Context(), auth.HashOf(strings.TrimPrefix(mail.path, "/l/")))
		require.NoError(t, err)
		const many = 60
		for i := range many {
			other := *known
			other.TokenHash, other.Tries = fmt.Sprintf("%064d", i), 0
			require.NoError(t, links.AddLink(t.Context(), &other))
		}
		require.Equal(t, api.LinkCodeTriesOfPerson, atOnce(many, func(i int) bool {
			one, err := links.TryLink(t.Context(), known.Principal, fmt.Sprintf("%064d", i), 1, known.CreatedAtMs, &journal.Entry{})
			return err == nil && one
		}))
	})
}

// Five wrong codes end a link, however many come at once, and the audit says so. Guessed links are unknown.
func TestGuessesOfCodes(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := startLinked(t, database)
		mail, runID := s.asks(t, "s")
		wrong := "0000"
		if mail.code == wrong {
			wrong = "0001"
		}
		require.Contains(t, s.press(t, mail, wrong, "allow", "x").text, "You have 4 tries left.")
		program := s.load(t, http.MethodPost, mail.path, url.Values{"code": {wrong}}, "Accept", "application/problem+json")
		require.Contains(t, program.text, `"code":"link_code_wrong"`)
		require.Contains(t, program.text, `"left":3`)
		untried := s.load(t, http.MethodPost, mail.path, url.Values{"code": {""}}, "Accept", "application/json")
		require.Equal(t, http.StatusUnprocessableEntity, untried.status)
		require.NotContains(t, untried.text, `"left"`)
		statuses := make(chan int, 40)
		var presses sync.WaitGroup
		for range cap(statuses) {
			presses.Go(func() { statuses <- s.press(t, mail, wrong, "allow", "x").status })
		}
		presses.Wait()
		close(statuses)
		count := map[int]int{}
		for status := range statuses {
			count[status]++
		}
		require.Equal(t, map[int]int{http.StatusForbidden: 3, http.StatusNotFound: 37}, count)
		s.dead(t, mail, "it is locked")
		s.waits(t, runID)

		_, admin := s.as(t, api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
		log, err := admin.ListAudit(t.Context(), client.AuditListParams{})
		require.NoError(t, err)
		var locked []string
		for _, entry := range log.Data {
			if bytes.Contains(entry.Event, []byte(`"link_locked"`)) {
				locked = append(locked, string(entry.Event))
			}
		}
		require.Len(t, locked, 1)
		require.Contains(t, locked[0], "user:ada")
		require.NotContains(t, locked[0], "example.com")

		// Guesses that were on their way together count one after the other.
		raced, _ := s.asks(t, "raced")
		link, err := s.Notify.Link(t.Context(), strings.TrimPrefix(raced.path, "/l/"))
		require.NoError(t, err)
		require.Equal(t, api.LinkCodeTries, atOnce(40, func(int) bool {
			right, _, err := s.Notify.EnterCode(t.Context(), link, "wrong")
			return err == nil && !right
		}))
		right, _, err := s.Notify.EnterCode(t.Context(), link, raced.code)
		require.False(t, right)
		require.Equal(t, api.CodeLinkNotFound, refusal.CodeOf(err))

		// The links of a person take 20 wrong codes together: 10 so far.
		for n := range 3 {
			more, _ := s.asks(t, fmt.Sprint("more-", n))
			for try := range 4 {
				got := s.press(t, more, "wrong", "", "")
				require.Equal(t, http.StatusForbidden, got.status)
				require.Equal(t, n < 2 || try < 2, strings.Contains(got.text, "tries left") || strings.Contains(got.text, "one try left"), got.text)
			}
			read := s.press(t, more, more.code, "", "")
			require.Equal(t, n < 2, read.status == http.StatusOK)
			require.Equal(t, n < 2, strings.Contains(read.text, "hunter2"))
			require.Equal(t, n == 2, strings.Contains(read.text, "This link takes no more codes"))
		}

		program = s.load(t, http.MethodGet, mail.path, nil, "Accept", "application/json")
		require.Contains(t, program.text, `"code":"link_not_found"`)
		valid := auth.NewLinkSecret()
		for _, guess := range []string{valid, valid[:len(valid)-1] + "_", "hplink_", "x", "..", "%00", strings.Repeat("a", 4000)} {
			require.Equal(t, http.StatusNotFound, s.load(t, http.MethodGet, "/l/"+guess, nil).status, guess)
		}
	})
}

// Of many presses at once, one decides.
func TestPressesAtOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := startLinked(t, database)
		mail, runID := s.asks(t, "s")
		digest := digestOf.FindStringSubmatch(s.press(t, mail, mail.code, "", "").text)[1]
		statuses := make(chan int, 8)
		var presses sync.WaitGroup
		for n := range cap(statuses) {
			decision := []string{"allow", "deny"}[n%2]
			presses.Go(func() { statuses <- s.press(t, mail, mail.code, decision, digest).status })
		}
		presses.Wait()
		close(statuses)
		won := 0
		for status := range statuses {
			if status == http.StatusOK {
				won++
				continue
			}
			require.Contains(t, []int{http.StatusConflict, http.StatusBadRequest, http.StatusNotFound}, status)
		}
		require.Equal(t, 1, won)
		require.Equal(t, 1, strings.Count(strings.Join(s.events(t, runID), " "), string(api.EventApprovalResolved)))
		s.healthy(t)
	})
}

// A link ends with its request, after three days, and with the rights and the address of its person.
func TestLinksEnd(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := startLinked(t, database)
		deny := client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "a", Behavior: api.BehaviorDeny}}}
		mail, runID := s.asks(t, "settled")
		_, err := s.ada.ResolveRunApprovals(t.Context(), runID, deny)
		require.NoError(t, err)
		s.dead(t, mail, "the request was decided elsewhere")

		// Ids are free again once retention has deleted the run, and the link is of the first request.
		again, runID := s.asks(t, "reused")
		_, err = s.ada.CancelRun(t.Context(), runID, "")
		require.NoError(t, err)
		retained, is := s.Store.(loop.RetentionStore)
		require.True(t, is)
		eventually(t, "the run is deleted", func() bool {
			_, err := loop.NewRetention(retained, loop.RetentionOptions{KeepRuns: time.Millisecond}).RunOnce(t.Context())
			require.NoError(t, err)
			_, err = s.worker.GetRun(t.Context(), runID)
			return err != nil
		})
		suspension := &api.Suspension{Approvals: []api.ApprovalRequest{{ID: "a", ToolName: "rm", ToolCallID: "a", Input: api.JSON(`{"path":"/"}`)}}}
		_, err = s.worker.CreateRun(t.Context(), client.CreateRunParams{SessionID: "reused", RunID: runID, AgentID: "coder", Input: "work", Suspend: suspension})
		require.NoError(t, err)
		s.dead(t, again, "its ids are another request's")
		s.waits(t, runID)

		old, _ := s.asks(t, "old")
		require.Equal(t, http.StatusOK, s.load(t, http.MethodGet, old.path, nil).status)
		s.ahead.Store(api.LinkMs)
		s.dead(t, old, "it is three days old")
		s.ahead.Store(0)

		// Another one: a message that was sent meanwhile may have deleted the old link.
		last, _ := s.asks(t, "last")
		require.Equal(t, http.StatusOK, s.load(t, http.MethodGet, last.path, nil).status)

		// Ada's other token may not decide.
		_, _ = s.as(t, api.CreateTokenBody{Name: "watches", Principal: "user:ada", Role: api.RoleObserver})
		_, elsewhere := s.as(t, api.CreateTokenBody{Name: "elsewhere", Principal: "user:ada", Role: api.RoleOperator, SessionPrefixes: []string{"other-"}})
		require.NoError(t, s.Keyring.Revoke(t.Context(), s.adaToken, true))
		s.dead(t, last, "no token of its person reaches the run")
		require.NoError(t, elsewhere.RemoveAddress(t.Context(), s.address.AddressID))
		_, _ = s.as(t, api.CreateTokenBody{Name: "ada2", Principal: "user:ada", Role: api.RoleOperator})
		s.dead(t, last, "the address was removed")
	})
}

// A link without a code decides nothing. A colleague to whom it was forwarded decides under their own name, or not at all.
func TestAForwardedLink(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory, time.Millisecond, true)
	_, ada := s.as(t, api.CreateTokenBody{Name: "ada", Role: api.RoleOperator})
	_, worker := s.as(t, api.CreateTokenBody{Name: "coder", Role: api.RoleAgent})
	_, ben := s.as(t, api.CreateTokenBody{Name: "ben", Role: api.RoleOperator})
	s.verified(t, ada, "ops", "ada", s.http)
	runID := raise(t, worker, "s", "a")
	eventually(t, "the message", func() bool { return len(s.http.about("Agent coder")) > 0 })
	text := s.http.about("Agent coder")[0]
	require.NotContains(t, text, "Code:")
	forwarded := letter{path: linkLine.FindStringSubmatch(text)[1]}
	got := s.load(t, http.MethodGet, forwarded.path, nil)
	require.NotContains(t, got.text, "<form")
	handle := regexp.MustCompile(`href="\.\./\?prompt=([^"]+)"`).FindStringSubmatch(got.text)[1]
	for range 10 {
		require.Equal(t, http.StatusForbidden, s.press(t, forwarded, "1234", "allow", "x").status)
	}
	require.Equal(t, http.StatusOK, s.load(t, http.MethodGet, forwarded.path, nil).status, "such a press is not a try")
	stranger, err := client.New(s.URL)
	require.NoError(t, err)
	defer stranger.Close()
	_, err = stranger.GetRequest(t.Context(), handle)
	require.ErrorIs(t, err, client.ErrUnauthorized)
	_, err = ben.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "a", Handle: handle, Behavior: api.BehaviorDeny}}})
	require.NoError(t, err)
	decided, err := ada.GetRequest(t.Context(), handle)
	require.NoError(t, err)
	require.Equal(t, "user:ben", decided.Resolution.ResolvedBy)
}

// A mail whose delivery the server took and did not confirm is sent again. Both have the same Message-ID, of which a mailbox
// shows one, and the link of each works with its own code.
func TestALinkThatWasSentTwice(t *testing.T) {
	t.Parallel()
	s := startLinked(t, inprocess.Memory)
	s.mail.set(func(i *inbox) { i.unconfirmed = 1 })
	raise(t, s.worker, "s", "a")
	eventually(t, "the second mail", func() bool { return len(s.letters(t, "Agent coder")) == 2 })
	mails := s.letters(t, "Agent coder")
	require.NotEqual(t, mails[0].path, mails[1].path)
	var ids []string
	for _, raw := range s.mail.about("hplink_") {
		message, err := mail.ReadMessage(strings.NewReader(raw))
		require.NoError(t, err)
		ids = append(ids, message.Header.Get("Message-ID"))
	}
	require.Len(t, ids, 2)
	require.Equal(t, ids[0], ids[1])
	for _, one := range mails {
		require.Equal(t, http.StatusOK, s.press(t, one, one.code, "", "").status)
	}
	digest := digestOf.FindStringSubmatch(s.press(t, mails[0], mails[0].code, "", "").text)[1]
	require.Equal(t, http.StatusOK, s.press(t, mails[0], mails[0].code, "deny", digest).status)
	for _, one := range mails {
		s.dead(t, one, "the request is settled")
	}
}

// A page asks one question with its options, and leads to the inbox for others.
func TestQuestionsOfLinks(t *testing.T) {
	t.Parallel()
	s := startLinked(t, inprocess.Memory)
	ask := func(session string, questions ...api.UserQuestion) (letter, string) {
		before := len(s.letters(t, "asks a question"))
		made, err := s.worker.CreateRun(t.Context(), client.CreateRunParams{SessionID: session, AgentID: "coder", Input: 1, Suspend: &api.Suspension{
			Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "q", Questions: questions}},
		}})
		require.NoError(t, err)
		eventually(t, "the mail", func() bool { return len(s.letters(t, "asks a question")) > before })
		return s.letters(t, "asks a question")[before], made.RunID
	}
	color := api.UserQuestion{ID: "color", Question: "Which one, раypal?", Options: []api.QuestionOption{{ID: "r", Label: "Red"}, {ID: "g", Label: "<b>Green</b>"}}}
	mail, runID := ask("one", color)
	require.NotContains(t, s.load(t, http.MethodGet, mail.path, nil).text, "Which one")
	read := s.press(t, mail, mail.code, "", "")
	require.Contains(t, read.text, `\u0440`, "letters that imitate others are visible")
	require.Contains(t, read.text, "&lt;b&gt;Green")
	answer := func(l letter, decision string, options ...string) page {
		return s.load(t, http.MethodPost, l.path, url.Values{"code": {l.code}, "decision": {decision}, "option": options})
	}
	require.Equal(t, http.StatusUnprocessableEntity, answer(mail, "answer").status, "nothing is chosen")
	require.Equal(t, http.StatusUnprocessableEntity, answer(mail, "allow", "g").status)
	require.GreaterOrEqual(t, answer(mail, "answer", "blue").status, http.StatusBadRequest)
	require.Equal(t, http.StatusOK, answer(mail, "answer", "g").status)
	run, err := s.worker.GetRun(t.Context(), runID)
	require.NoError(t, err)
	require.Empty(t, run.PendingQuestions)

	several, runID := ask("two", color, api.UserQuestion{ID: "why", Question: "Why?"})
	require.Contains(t, s.press(t, several, several.code, "", "").text, "Answer this question in the inbox.")
	require.Equal(t, http.StatusUnprocessableEntity, answer(several, "answer", "g").status)
	run, err = s.worker.GetRun(t.Context(), runID)
	require.NoError(t, err)
	require.Len(t, run.PendingQuestions, 1)
}

// A person whom an issuer admits decides by a link for as long after their last call as a sign-in lasts, and with the
// groups of that time.
func TestPeopleOfAnIssuerDecideByLink(t *testing.T) {
	t.Parallel()
	s := start(t, inprocess.Memory, time.Hour, true)
	tokens, is := s.Store.(auth.Tokens)
	require.True(t, is)
	nowMs := time.Now().UnixMilli()
	keyring := auth.NewKeyring(auth.Options{Tokens: tokens, Mode: auth.Required, Issuer: true, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
	signIn := func(role api.Role) {
		_, _, err := keyring.SignInByIssuer(t.Context(), &auth.Assertion{
			By: auth.ByIssuer, Subject: "ada", Name: "ada", Principal: "user:oidc:ada", Role: role, IssuedAtMs: nowMs, ExpiresAtMs: nowMs + 60_000,
		})
		require.NoError(t, err)
	}
	decides := func() bool {
		identity, err := keyring.ByLink(t.Context(), "user:oidc:ada", func(*auth.Identity) bool { return true })
		require.NoError(t, err)
		return identity != nil
	}
	signIn(api.RoleOperator)
	require.True(t, decides())
	nowMs += auth.MaxIssuedSignInMs - 1
	require.True(t, decides())
	nowMs++
	require.False(t, decides(), "the issuer has to confirm the groups again")
	signIn(api.RoleAdmin)
	require.True(t, decides())
	nowMs++
	signIn(api.RoleObserver)
	require.False(t, decides(), "the issuer took away the role")
}
