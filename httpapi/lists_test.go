package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// pages reads a list by its cursors and returns the given member of every row.
func (a *rig) pages(t *testing.T, path string, limit int, member ...any) []string {
	t.Helper()
	var seen []string
	query := fmt.Sprintf("page=true&limit=%d", limit)
	for {
		page := a.get(t, path+query).want(http.StatusOK)
		for i := range page.list("items") {
			seen = append(seen, page.textAt(append([]any{"items", i}, member...)...))
		}
		if page.at("pagination", "has_more") == false {
			require.Nil(t, page.at("pagination", "next_cursor"))
			require.Empty(t, page.header.Get("Link"))
			return seen
		}
		require.Len(t, page.list("items"), limit)
		cursor := page.textAt("pagination", "next_cursor")
		require.Contains(t, page.header.Get("Link"), "cursor="+url.QueryEscape(cursor))
		query = fmt.Sprintf("cursor=%s&limit=%d", cursor, limit)
	}
}

func testLists(t *testing.T, a *rig) {
	parallel(t, "every list refuses what it cannot read", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		for _, path := range []string{
			"/v1/sessions", "/v1/runs", "/v1/approvals", "/v1/questions", "/v1/effects",
			"/v1/sessions/" + run.session + "/approvals", "/v1/sessions/" + run.session + "/questions",
		} {
			for _, limit := range []string{"0", "-1", "101", "x", "", "1.5", "99999999999999999999"} {
				a.get(t, path+"?limit="+limit, unchecked()).refused(api.CodeInvalidLimit)
			}
			for _, cursor := range []string{"", "x", "!", "e30", "cS8", "cS9hL2I", "ci8xL2EvYg", "cy9hL2I", strings.Repeat("A", 5000)} {
				a.get(t, path+"?cursor="+cursor, unchecked()).refused(api.CodeInvalidCursor)
			}
			a.get(t, path+"?page=maybe").refused(api.CodeBadRequest)
		}
		for path, names := range map[string]string{
			"/v1/runs?priority_active=1":          "priority_active must be true or false",
			"/v1/runs?status=idle":                "status must be queued, running, waiting_for_approval",
			"/v1/runs?kind=approval_resume":       "kind must be input, call or parent_clarification",
			"/v1/runs?kind=%00&page=true":         "kind must be input, call or parent_clarification",
			"/v1/runs/" + run.run + "?until=over": "until must be decided or terminal",
			"/v1/sessions?status=completed":       "status must be idle, running, waiting_for_approval",
			"/v1/sessions?status=queued":          "status must be idle, running, waiting_for_approval",
			"/v1/sessions?status=Idle&page=true":  "status must be idle, running, waiting_for_approval",
			"/v1/effects?state=over":              "state must be pending, done or failed",
			"/v1/decisions?outcome=allow":         "outcome must be allowed, denied",
			"/v1/tokens?state=old":                "state must be active, expired or revoked",
			"/v1/approvals?fields=all":            `fields must be "summary"`,
			"/v1/questions?fields=all":            `fields must be "summary"`,
			"/v1/decisions?fields=all":            `fields must be "summary"`,
			"/v1/stream?fields=all":               `fields must be "summary"`,
		} {
			require.Contains(t, a.get(t, path, unchecked()).refused(api.CodeBadRequest).textAt("detail"), names)
		}
		page := a.get(t, "/v1/runs?page=true&limit=1").want(http.StatusOK)
		if cursor, more := page.at("pagination", "next_cursor").(string); more {
			a.get(t, "/v1/runs?priority_active=true&cursor="+cursor, expecting(semantic)).refused(api.CodeInvalidCursor)
		}
	})
	parallel(t, "what cannot be there is not there", func(t *testing.T) {
		for _, path := range []string{
			"/v1/sessions/nobody/approvals", "/v1/sessions/nobody/questions", "/v1/approvals?session_id=nobody",
			"/v1/questions?session_id=nobody", "/v1/runs?session_id=nobody", "/v1/runs?agent_id=nobody",
			"/v1/sessions?agent_id=nobody", "/v1/effects?session_id=nobody",
		} {
			require.Equal(t, "[]", a.get(t, path).want(http.StatusOK).text)
		}
		for _, path := range []string{
			"/v1/sessions/a%00b/approvals", "/v1/sessions/%FF/questions", "/v1/approvals?session_id=%00", "/v1/questions?session_id=%FF",
			"/v1/runs?session_id=%00", "/v1/sessions?agent_id=a+b",
			"/v1/effects?session_id=%00",
		} {
			require.Equal(t, "[]", a.get(t, path, expecting(lenient)).want(http.StatusOK).text)
		}
		// Filters that net/url drops as unreadable must not be ignored.
		for _, path := range []string{
			"/v1/approvals?session_id=%zz", "/v1/approvals?session_id=nobody;limit=1", "/v1/effects?x=1&session_id=%", "/v1/rules?session_id=%2",
			"/v1/runs?limit=%", "/v1/runs/open?until=%zz", "/v1/sessions/nobody/stream?cursor=%zz", "/v1/stream?;",
		} {
			a.get(t, path, unchecked()).refused(api.CodeBadRequest)
		}
		// Nor is one of two values.
		for _, path := range []string{
			"/v1/runs?session_id=nobody&session_id=somebody", "/v1/runs?status=queued&limit=1&status=running", "/v1/approvals?session_id=nobody&session_id=",
			"/v1/runs/open?until=decided&until=terminal", "/v1/sessions/nobody/events?after=1&after=2", "/v1/effects?unknown=1&unknown=2",
		} {
			require.Contains(t, a.get(t, path, unchecked()).refused(api.CodeBadRequest).textAt("detail"), "given twice")
		}
		a.get(t, "/v1/runs?session_id=nobody&session_id=nobody", unchecked()).want(http.StatusOK)
		empty := a.get(t, "/v1/questions?session_id=nobody&page=true").want(http.StatusOK)
		require.Equal(t, `{"items":[],"pagination":{"limit":50,"total_count":0,"has_more":false,"next_cursor":null,"order":"session_id_asc,request_id_asc"}}`, empty.text)
		require.Equal(t, empty.text, a.get(t, "/v1/questions?session_id=%00&page=true", expecting(lenient)).want(http.StatusOK).text)
	})
	parallel(t, "runs by the time they came in", func(t *testing.T) {
		session := a.name("session")
		var made []string
		for range 7 {
			made = append(made, a.post(t, "/v1/sessions/"+session+"/runs", `{"input":1}`).want(http.StatusAccepted).textAt("run_id"))
		}
		// Runs of the same millisecond are ordered by id.
		all := a.get(t, "/v1/runs?session_id="+session).want(http.StatusOK)
		order := make([]string, 7)
		for i := range order {
			order[i] = all.textAt(i, "run_id")
		}
		require.ElementsMatch(t, made, order)
		for limit := 1; limit <= 8; limit++ {
			require.Equal(t, order, a.pages(t, "/v1/runs?session_id="+session+"&", limit, "run_id"))
		}
		last := a.get(t, "/v1/runs?limit=2&session_id="+session).want(http.StatusOK)
		got := []string{last.textAt(0, "run_id"), last.textAt(1, "run_id")}
		require.Equal(t, order[5:], got, "the last n, in the list's order")
		page := a.get(t, "/v1/runs?page=true&session_id="+session).want(http.StatusOK)
		require.Equal(t, map[string]any{
			"limit": 50.0, "total_count": 7.0, "has_more": false, "next_cursor": nil, "order": "submitted_at_ms_asc,run_id_asc",
		}, page.at("pagination"))

		over := order[0]
		a.post(t, "/v1/runs/"+over+"/cancel", "").want(http.StatusOK)
		active := append(slices.Clone(order[1:]), over)
		for limit := 1; limit <= 8; limit++ {
			require.Equal(t, active, a.pages(t, "/v1/runs?priority_active=true&session_id="+session+"&", limit, "run_id"))
		}
		first := a.get(t, "/v1/runs?priority_active=true&limit=1&session_id="+session).want(http.StatusOK)
		require.Equal(t, order[1], first.textAt(0, "run_id"))
		require.Contains(t, first.header.Get("Link"), "priority_active=true")
		require.Equal(t, over, a.get(t, "/v1/runs?status=cancelled&kind=input&session_id="+session).textAt(0, "run_id"))
		require.Len(t, a.get(t, "/v1/runs?status=queued&session_id="+session).list(), 6)
	})
	parallel(t, "sessions", func(t *testing.T) {
		agent := a.name("agent")
		var made []string
		for i := range 5 {
			id := a.name(fmt.Sprintf("s%d", i))
			made = append(made, id)
			a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"agent_id":%q}`, id, agent)).want(http.StatusCreated)
		}
		for limit := 1; limit <= 6; limit++ {
			require.Equal(t, made, a.pages(t, "/v1/sessions?agent_id="+agent+"&", limit, "session_id"))
		}
		a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"suspend":{"approvals":[%s],"questions":[%s]}}`, made[1], approval("a1"), question("q1"))).want(http.StatusAccepted)
		a.post(t, "/v1/sessions/"+made[2]+"/end", "").want(http.StatusOK)
		shown := a.get(t, "/v1/sessions?status=waiting_for_user_question&agent_id="+agent).want(http.StatusOK)
		require.Equal(t, made[1], shown.textAt(0, "session_id"))
		require.Equal(t, 1.0, shown.at(0, "pending_approvals"))
		require.Equal(t, 1.0, shown.at(0, "pending_questions"))
		require.Equal(t, made[2], a.get(t, "/v1/sessions?status=ended&agent_id="+agent).textAt(0, "session_id"))
		require.Len(t, a.get(t, "/v1/sessions?status=idle&agent_id="+agent).list(), 3)
		limited := a.get(t, "/v1/sessions?limit=2&agent_id="+agent).want(http.StatusOK)
		require.Len(t, limited.list(), 2)
		require.Contains(t, limited.header.Get("Link"), `rel="next"`)
	})
	parallel(t, "open requests in the order of session, run and request", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("b")+`,`+approval("A")+`,`+approval("a")+`],"questions":[`+question("q2")+`,`+question("q1")+`]`)
		for _, base := range []string{"/v1/approvals?session_id=" + run.session + "&", "/v1/sessions/" + run.session + "/approvals?"} {
			for limit := 1; limit <= 4; limit++ {
				require.Equal(t, []string{"A", "a", "b"}, a.pages(t, base, limit, "request", "id"))
			}
			all := a.get(t, base).want(http.StatusOK)
			require.Len(t, all.list(), 3)
			require.Equal(t, run.run, all.at(0, "run_id"))
			require.Equal(t, "default", all.at(0, "agent_id"))
			require.Equal(t, 3.0, a.get(t, base+"page=true&limit=1").at("pagination", "total_count"))
		}
		for _, base := range []string{"/v1/questions?session_id=" + run.session + "&", "/v1/sessions/" + run.session + "/questions?"} {
			for limit := 1; limit <= 3; limit++ {
				require.Equal(t, []string{"q1", "q2"}, a.pages(t, base, limit, "request", "id"))
			}
			require.Equal(t, "input", a.get(t, base).at(0, "run_kind"))
		}
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a")).want(http.StatusAccepted)
		require.Len(t, a.get(t, "/v1/sessions/"+run.session+"/approvals").list(), 2)
	})
	parallel(t, "what is due is not shown as open", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+expired+`,`+approval("a1")+`]`)
		shown := a.get(t, "/v1/sessions/"+run.session+"/approvals").want(http.StatusOK)
		require.Len(t, shown.list(), 1)
		require.Equal(t, "a1", shown.at(0, "request", "id"))
		late := a.waiting(t, `"questions":[`+lateQuestion+`]`)
		require.Equal(t, "[]", a.get(t, "/v1/sessions/"+late.session+"/questions").want(http.StatusOK).text)
		require.Equal(t, "cancelled", a.get(t, "/v1/runs/"+late.run).at("status"))
	})
}

// TestUnpagedListsAreBounded shows that a long list without a limit has a cursor for the rest.
func TestUnpagedListsAreBounded(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t))
	const open = 1_050
	for made := 0; made < open; made += 50 {
		requests := make([]string, 50)
		for i := range requests {
			requests[i] = approval(fmt.Sprintf("a%04d", made+i))
		}
		a.waiting(t, `"approvals":[`+strings.Join(requests, ",")+`]`)
	}
	all := a.get(t, "/v1/approvals").want(http.StatusOK)
	require.Len(t, all.list(), 1_000)
	link := all.header.Get("Link")
	require.Regexp(t, `^</v1/approvals\?cursor=[A-Za-z0-9_-]+&limit=100>; rel="next"$`, link)
	next, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	rest := a.get(t, next).want(http.StatusOK)
	require.Len(t, rest.list("items"), 50)
	require.Equal(t, float64(open), rest.at("pagination", "total_count"))
}
