package links

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// signedOut is a link that took a code until its person's sign-in ended.
type signedOut struct{ link notify.Link }

func (s *signedOut) Link(context.Context, string) (*notify.Link, error) { return &s.link, nil }

func (*signedOut) EnterCode(context.Context, *notify.Link, string) (bool, int64, error) {
	return false, 0, refusal.New(api.CodeLinkNotFound, "this link does not work, or works no longer")
}

// A decision on a page that was open when the sign-in of its person ended is not said to be recorded.
func TestADecisionAfterTheSignInEnded(t *testing.T) {
	t.Parallel()
	f := &face{pages: newPages(), links: &signedOut{notify.Link{
		Request: &model.Request{Kind: model.KindApproval, Handle: "h", Body: api.JSON(`{"id":"a","tool_name":"deploy"}`)}, Run: &model.Run{AgentID: "coder"},
	}}}
	press := func(form, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/l/secret", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Accept", accept)
		reply := httptest.NewRecorder()
		f.answer(f.submit).ServeHTTP(reply, r)
		return reply
	}
	for _, form := range []string{"code=1234&decision=allow&input_digest=x", "code=1234", ""} {
		page := press(form, "text/html")
		require.Equal(t, http.StatusForbidden, page.Code, form)
		require.Contains(t, page.Body.String(), "Approval needed: deploy", form)
		require.Contains(t, page.Body.String(), "Sign in to see it and to decide.", form)
		require.Contains(t, page.Body.String(), "This link takes no code. Nothing was recorded: sign in to decide.", form)
		require.Contains(t, page.Body.String(), `href="../?prompt=h"`, form)
		require.NotContains(t, page.Body.String(), "<form", form)

		problem := press(form, "application/json")
		require.Equal(t, http.StatusForbidden, problem.Code, form)
		require.Contains(t, problem.Body.String(), `"code":"link_code_wrong"`, form)
		require.Contains(t, problem.Body.String(), "Nothing was recorded: sign in to decide.", form)
		require.NotContains(t, problem.Body.String(), `"left"`, "it is not a try")
	}
}

// Browsers submit each line break as CR LF. What is recorded has the line breaks of the person and of the option.
func TestLineBreaksOfAForm(t *testing.T) {
	t.Parallel()
	command := func(kind model.RequestKind, body string, form url.Values) runs.Command {
		link := &notify.Link{Person: &auth.Identity{Principal: "user:ada"}, Request: &model.Request{Kind: kind, Body: api.JSON(body)}}
		command, fault := commandOf(link, &http.Request{PostForm: form})
		require.Empty(t, fault)
		return command
	}
	answered := func(options string, chosen ...string) api.UserQuestionAnswer {
		body := `{"id":"q","questions":[{"id":"q","question":"Where?","allow_freeform":true,"options":[` + options + `]}]}`
		given := command(model.KindQuestion, body, url.Values{fieldDecision: {decisionAnswer}, fieldOption: chosen, fieldText: {" first\r\nsecond\r\n"}})
		return given.(*runs.AnswerQuestion).Resolution.Answers[0]
	}
	require.Equal(t, api.UserQuestionAnswer{QuestionID: "q", SelectedOptionIDs: []string{"a\nb", "c\rd", "e"}, FreeformAnswer: "first\nsecond"},
		answered(`{"id":"a\nb"},{"id":"c\rd"},{"id":"e"}`, "a\r\nb", "c\r\nd", "e"))
	require.Equal(t, []string{"", "unknown"}, answered(`{"id":"a\nb"},{"id":"a\r\nb"}`, "a\r\nb", "unknown").SelectedOptionIDs)

	denied := command(model.KindApproval, `{"id":"a","tool_name":"deploy"}`, url.Values{fieldDecision: {"deny"}, fieldReason: {"not\r\nnow"}})
	require.Equal(t, "not\nnow", denied.(*runs.ResolveApprovals).Resolutions[0].Reason)
}
