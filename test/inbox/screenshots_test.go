//go:build unix && browser

package inbox

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// TestScreenshots takes the screenshots of docs/, in the directory HOLDPOINT_SCREENSHOTS.
func TestScreenshots(t *testing.T) {
	directory := os.Getenv("HOLDPOINT_SCREENSHOTS")
	if directory == "" {
		return
	}
	f := start(t)
	ask := func(session, agent string, suspension api.Suspension) {
		f.create(t, client.CreateRunParams{SessionID: session, AgentID: agent, Input: "go", Suspend: &suspension})
	}
	for _, call := range []struct {
		session, agent, tool, input, reason string
		dueMs                               int64
	}{
		{"shop", "claude-code", "Bash", `{"command":"npm install left-pad && npm test","description":"Install and test","cwd":"/home/ada/src/shop","timeout":120000}`, "", 0},
		{"shop-clean", "claude-code", "Bash", `{"command":"rm -rf node_modules dist","description":"Clean up before the build"}`, "", 0},
		{"shop-cart", "claude-code", "Edit", `{"file_path":"/home/ada/src/shop/cart/total.go","old_string":"func Total(items []Item) int {\n\tsum := 0\n\tfor _, one := range items {\n\t\tsum += one.Price\n\t}\n\treturn sum\n}","new_string":"func Total(items []Item) int {\n\tsum := 0\n\tfor _, one := range items {\n\t\tsum += one.Price * one.Count\n\t}\n\treturn sum\n}","description":"Sum with counts"}`, "", 0},
		{"tickets", "support", "refund", `{"order":"A-10017","amount":42.67,"currency":"EUR"}`, "Damaged on arrival", 56_000},
		{"tickets-2", "support", "send_email", `{"to":"kim@example.com","subject":"Your refund","body":"Dear Kim,\n\nyour refund is on its way.\n\nThe shop"}`, "", 0},
		{"release-42", "deployer", "bash", `{"command":"make release && git push --tags","cwd":"/srv/shop"}`, "The release needs a clean tree.", 900_000},
		{"scale-web", "deployer", "scale_service", `{"service":"web","replicas":8,"region":"eu-central-1"}`, "Traffic doubled since noon.", 0},
		{"docs", "gemini", "web_fetch", `{"url":"https://docs.example.com/reference/api?version=3"}`, "", 0},
		{"docs-2", "gemini", "write_file", `{"file_path":"guide/setup.txt","content":"# Setup\n\nInstall it.\n"}`, "A guide for newcomers", 0},
	} {
		request := api.ApprovalRequest{ID: "a", ToolCallID: "c", ToolName: call.tool, Input: api.JSON(call.input), Reason: call.reason}
		if call.dueMs > 0 {
			request.ExpiresAfterMs = &call.dueMs
		}
		ask(call.session, call.agent, one(request))
	}
	ask("migration", "deployer", api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{
		ID: "db", Header: "Database", Question: "Which database should the migration run on first?",
		Options: []api.QuestionOption{{ID: "s", Label: "Staging", Description: "A copy from last night"}, {ID: "p", Label: "Production", Description: "Live since 2023"}},
	}}}}})
	p := f.open(t, "/")
	for _, shot := range []struct {
		name, theme   string
		width, height int64
		opens         string
	}{
		{"inbox-light", "light", 1280, 800, "Edit"},
		{"inbox-dark", "dark", 1280, 800, "Database"},
		{"inbox-roomy", "light", 1600, 900, "Edit"},
		{"inbox-phone", "light", 390, 844, ""},
		{"inbox-phone-open", "light", 390, 844, "bash"},
	} {
		p.in(shot.theme, shot.width, shot.height)
		p.until("laid out", func() bool { return p.read("String(innerWidth)") == strconv.FormatInt(shot.width, 10) })
		p.load("/")
		p.row("Database")
		if shot.opens != "" {
			p.prompt(shot.opens)
		}
		p.frame()
		picture, err := chromedp.Run(p.tab, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(directory, shot.name+".png"), picture, 0o644))
	}
}

// shoot takes a screenshot of the page in the directory HOLDPOINT_SCREENSHOTS, if set.
func (f *flows) shoot(t *testing.T, p *page, name string) {
	t.Helper()
	directory := os.Getenv("HOLDPOINT_SCREENSHOTS")
	if directory == "" {
		return
	}
	if f.phone {
		name += "-phone"
	}
	p.frame()
	picture, err := chromedp.Run(p.tab, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(directory, name+".png"), picture, 0o600))
}
