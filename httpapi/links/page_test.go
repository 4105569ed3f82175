package links

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A command is read as the lines that will run, apart from the rest of the input, and nothing in it is hidden.
func TestTheInputIsReadAsLines(t *testing.T) {
	t.Parallel()
	body := `{"id":"a","tool_name":"bash","reason":"because","input":{"command":"cd /srv\n\trm -rf build\u202e # </pre>","description":"Clean","timeout":5}}`
	link := &notify.Link{Request: &model.Request{Kind: model.KindApproval, Body: api.JSON(body)}, Run: &model.Run{AgentID: "coder"}}
	reply := httptest.NewRecorder()
	newPages().review(reply, 200, link, "1234", "")
	page := reply.Body.String()
	require.Contains(t, page, `aria-label="Command">cd /srv`+"\n\t"+`rm -rf build\u202e # &lt;/pre&gt;</pre>`)
	require.Contains(t, page, `aria-label="Other input">{`+"\n  &#34;timeout&#34;: 5\n}</pre>")
	require.Equal(t, []string{"Agent", "Action", "Reason", "Description"}, labelsOf(page))
}

// A question is asked on the page if all that its agent says about it is there.
func TestTheQuestionOfALinkIsShownWhole(t *testing.T) {
	t.Parallel()
	for body, shown := range map[string]bool{
		`{"id":"q","questions":[{"id":"pay","question":"Pay?","options":[{"id":"y","label":"Yes"}]}]}`:                              true,
		`{"id":"q","payload":{"amount":5000},"questions":[{"id":"pay","question":"Pay?","options":[{"id":"y","label":"Yes"}]}]}`:    false,
		`{"id":"q","questions":[{"id":"pay","question":"Pay?","options":[{"id":"y","label":"Yes","preview":"to somebody else"}]}]}`: false,
	} {
		link := &notify.Link{Request: &model.Request{Kind: model.KindQuestion, Body: api.JSON(body)}, Run: &model.Run{AgentID: "coder"}}
		reply := httptest.NewRecorder()
		newPages().review(reply, 200, link, "1234", "")
		require.Equal(t, shown, strings.Contains(reply.Body.String(), "Yes"), body)
	}
}

// What a question is about may stand in its header alone. The one that the service fills in says nothing.
func TestTheHeaderOfAQuestionIsShown(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Delete production": "<legend>[Delete production] Which?</legend>", "Delete\nprod\u202e": `<legend>[Delete\nprod\u202e] Which?</legend>`,
		"Question 1": "<legend>Which?</legend>", "": "<legend>Which?</legend>",
	} {
		body := fmt.Sprintf(`{"id":"q","questions":[{"id":"q","header":%q,"question":"Which?"}]}`, header)
		link := &notify.Link{Request: &model.Request{Kind: model.KindQuestion, Body: api.JSON(body)}, Run: &model.Run{AgentID: "coder"}}
		reply := httptest.NewRecorder()
		newPages().review(reply, 200, link, "1234", "")
		require.Contains(t, reply.Body.String(), want)
	}
}

// Options that read the same have their ids.
func TestOptionsOfALinkAreToldApart(t *testing.T) {
	t.Parallel()
	body := `{"id":"q","questions":[{"id":"q","question":"Which?","options":[{"id":"eu","label":"Main"},{"id":"us","label":"Main"},{"id":"old","label":"Main","description":"read-only"}]}]}`
	link := &notify.Link{Request: &model.Request{Kind: model.KindQuestion, Body: api.JSON(body)}, Run: &model.Run{AgentID: "coder"}}
	reply := httptest.NewRecorder()
	newPages().review(reply, 200, link, "1234", "")
	for _, shown := range []string{"<span>Main (eu)</span>", "<span>Main (us)</span>", "<span>Main<br>read-only</span>"} {
		require.Contains(t, reply.Body.String(), shown)
	}
}

// A request that stays open after its deadline is shown with it.
func TestTheDeadlineOfAKeptRequestIsShown(t *testing.T) {
	t.Parallel()
	body := `{"id":"a","tool_name":"bash","input":{},"expires_at_ms":1798135200000,"escalation":{"at_deadline":"keep"}}`
	link := &notify.Link{Request: &model.Request{Kind: model.KindApproval, Body: api.JSON(body)}, Run: &model.Run{AgentID: "coder"}}
	reply := httptest.NewRecorder()
	newPages().entry(reply, 200, link, "")
	require.Contains(t, reply.Body.String(), "<p>Deadline: 24 Dec 2026 18:00 UTC (stays open after that)</p>")
}

func labelsOf(page string) (labels []string) {
	for _, found := range regexp.MustCompile(`<dt>(.*?)</dt>`).FindAllStringSubmatch(page, -1) {
		labels = append(labels, found[1])
	}
	return labels
}
