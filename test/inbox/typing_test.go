//go:build unix && browser

package inbox

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// typing types a reason, an answer and an edit, in letters that are keys of the page, while requests arrive and
// are decided elsewhere, the service restarts, and the session ends. Nothing typed is lost or sent elsewhere, and
// no letter decides.
func (f *flows) typing(t *testing.T) {
	service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db")})
	root, err := service.ConnectPatiently().CreateToken(t.Context(), api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
	require.NoError(t, err)
	admin := service.Connect(client.WithToken(root.Secret))
	token := func(name string) *api.TokenSecret {
		made, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: name, Role: api.RoleOperator, Principal: "user:mara"})
		require.NoError(t, err)
		return made
	}
	raise := func(tool string) *client.CreatedRun {
		suspension := one(approval(tool, `{"target":"staging"}`))
		run, err := admin.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s-" + tool, Input: "go", Suspend: &suspension})
		require.NoError(t, err)
		return run
	}
	denyElsewhere := func(run *client.CreatedRun) {
		_, err := admin.ResolveRunApprovals(t.Context(), run.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: run.PendingApprovals[0].ID, Behavior: api.BehaviorDeny}}})
		require.NoError(t, err)
	}
	untouched := func(handle string) {
		view, err := admin.GetRequest(t.Context(), handle)
		require.NoError(t, err)
		require.Nil(t, view.Resolution, "no letter decides")
	}
	others := []*client.CreatedRun{raise("type-one"), raise("type-two"), raise("type-three")}
	typed, edited := raise("type-reason"), raise("type-edit")
	asks := api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "a", Header: "type-answer", Question: "Which one?"}}}}}
	question, err := admin.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s-question", Input: "go", Suspend: &asks})
	require.NoError(t, err)

	first := token("first")
	p := openPage(t, f.browser, service.URL(), "/")
	if f.phone {
		p.in("dark", 390, 844)
	}
	signIn := func(secret string) {
		p.find("textbox", "Token").write(secret)
		p.find("button", "Sign in").click()
	}
	signIn(first.Secret)
	field := func() string { return p.read(`document.activeElement.value ?? "no field"`) }
	// types presses letters with all that happens meanwhile in between.
	const letters = "aDr ea ndx s"
	types := func(before string) string {
		for i, letter := range letters {
			p.press(string(letter))
			switch i {
			case 2:
				raise("type-new-" + strconv.Itoa(len(others)))
			case 4:
				denyElsewhere(others[0])
				others = others[1:]
			case 6:
				service.Kill()
				<-service.Ended()
			case 9:
				require.NoError(t, service.Restart())
				require.NoError(t, service.AwaitReady())
			}
		}
		p.until("live again", func() bool { return p.read(`document.querySelector(".connection").className`) == "connection live" })
		p.until("all of it stands there", func() bool { return field() == before+letters })
		return before + letters
	}

	item := p.prompt("type-answer")
	item.find("textbox", "Your answer").call("function() { this.focus(); return 0 }", nil)
	p.press("Q")
	answer := types("Q")

	item = p.prompt("type-edit")
	f.action(item, "Edit")
	item.find("textbox", "Input").call("function() { this.focus(); this.setSelectionRange(this.value.length, this.value.length); return 0 }", nil)
	edit := types(field())

	item = p.prompt("type-reason")
	item.find("button", "Deny").click()
	f.reason(item).call("function() { this.focus(); return 0 }", nil)
	p.press("R")
	reason := types("R")

	// The session ends under the hands of the person. The sign-in takes nothing of the rest of the sentence.
	require.NoError(t, admin.RevokeToken(t.Context(), first.Token.TokenID))
	p.find("heading", "Sign in")
	p.press("aD not a token\r")
	require.Empty(t, p.read(`document.querySelector("input[type=password]").value`))
	require.NotContains(t, p.shown(), "the token does not work")
	for _, handle := range []string{typed.PendingApprovals[0].Handle, edited.PendingApprovals[0].Handle, question.PendingQuestions[0].Handle} {
		untouched(handle)
	}

	signIn(token("second").Secret)
	p.until("it is known who that is", func() bool { return p.read(`document.querySelector(".who")?.textContent ?? ""`) == "mara" })
	require.Equal(t, quoted(answer), p.prompt("type-answer").find("textbox", "Your answer").call("function() { return this.value }", nil))
	item = p.prompt("type-edit")
	f.action(item, "Edit")
	require.Equal(t, quoted(edit), item.find("textbox", "Input").call("function() { return this.value }", nil))
	item.find("button", "Back").click()
	item = p.prompt("type-reason")
	item.find("button", "Deny").click()
	require.Equal(t, quoted(reason), item.find("textbox", "Reason (optional)").call("function() { return this.value }", nil))

	// Somebody else decides what the person types about: the text stays, and letters go nowhere.
	denyElsewhere(typed)
	item.status("Your reason was not sent")
	p.press("aDa")
	item.find("button", "Copy text")
	untouched(edited.PendingApprovals[0].Handle)
	untouched(question.PendingQuestions[0].Handle)

	// With Caps Lock on, "d" arrives as "D": nothing is decided, and the reason gets the letters.
	capitals := []*client.CreatedRun{raise("type-caps-1"), raise("type-caps-2")}
	p.row("type-caps-2")
	item = p.prompt("type-caps-1")
	p.eval(`(document.getElementById("detail").focus(), "")`)
	p.calm()
	p.eval(`(document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "D", bubbles: true, cancelable: true, modifierCapsLock: true})), "")`)
	p.until("the reason has the focus", func() bool { return field() == "" })
	p.press("NOT NEEDED")
	require.Equal(t, quoted("NOT NEEDED"), item.find("textbox", "Reason (optional)").call("function() { return this.value }", nil))
	for _, run := range capitals {
		untouched(run.PendingApprovals[0].Handle)
	}
}
