package prompt_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/prompt"
)

// A payload is left out only where the text of the question has all of it.
func TestWhatTheTextOfAQuestionLeavesOut(t *testing.T) {
	t.Parallel()
	for payload, all := range map[string]bool{
		``: true, `{"question":"Pay?"}`: true, `{"question":"Pay?","amount":5000}`: false, `{"amount":5000}`: true, `"Pay?"`: true,
		`{"message":"Pay?"}`: true, `{"message":"Pay?","amount":5000}`: false, `{"question":"Pay?","message":"5000"}`: false, `{"message":{"amount":1}}`: true,
		`{"question":"","amount":1}`: true, `{"question":{"amount":1}}`: true, `{"question":"Pay?","question":"Pay 5000?"}`: false,
	} {
		request := api.UserQuestionRequest{ResponseSchema: api.JSON(`true`)}
		if payload != "" {
			request.Payload = api.JSON(payload)
		}
		require.Equal(t, all, prompt.OnlyQuestion(&request), payload)
	}
	headed := func(headers ...string) *api.UserQuestionRequest {
		request := &api.UserQuestionRequest{}
		for _, header := range headers {
			request.Questions = append(request.Questions, api.UserQuestion{Header: header, Question: "Which?"})
		}
		return request
	}
	require.Equal(t, "Which? / [Prod] Which? / Which?", prompt.QuestionText(headed("Question 1", "Prod", "")))
	require.Equal(t, "Which?", prompt.QuestionText(headed("Question")), "of holdpoint ask")
	require.Equal(t, `[Pr\nod] Which?`, prompt.QuestionText(headed("Pr\nod")))
	require.Equal(t, "Pay?", prompt.QuestionText(&api.UserQuestionRequest{Payload: api.JSON(`{"message":"Pay?"}`)}))
	structured := api.UserQuestionRequest{Questions: []api.UserQuestion{{Question: "Pay?"}}, Payload: api.JSON(`{"question":"Pay?"}`)}
	require.False(t, prompt.OnlyQuestion(&structured), "the payload may be about something else")
}

// The shell must read a quoted line back as the same arguments, because the person who
// decides reads this line.
func TestQuoteLineIsReadBackByTheShell(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{
		{"ls", "-l"},
		{"", " ", "a b", "it's", `"`, `\`, "$HOME", "`id`", "*", "~", "#x", "a\nb", "ü", "-n", "!", "a=b", "{x,y}"},
		{"'", "''", `'\''`, ";", "&&", "|", ">x", "<(ls)"},
	} {
		out, err := exec.Command("/bin/sh", "-c", `set -- `+prompt.QuoteLine(argv)+`; for a in "$@"; do printf '%s\0' "$a"; done`).Output()
		require.NoError(t, err)
		require.Equal(t, strings.Join(argv, "\x00")+"\x00", string(out))
	}
	require.Equal(t, "rm -rf ./build", prompt.QuoteLine([]string{"rm", "-rf", "./build"}), "nothing is quoted without need")
}

// A line that shows one member of an input lists the members it omits.
func TestCommandOfSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"command":"ls -l"}`:                                        "ls -l",
		`{"command":"ls -l","argv":["ls","-l"],"cwd":"/w"}`:          "ls -l (in /w)",
		`{"command":"ls -l","argv":["rm","-rf","/"]}`:                "ls -l (and 1 more: argv)",
		`{"command":"ls","then":"rm -rf /","e":1,"d":2,"c":3,"f":1}`: "ls (and 5 more: c, d, e, …)",
		`{"script":"x"}`:                   `{"script":"x"}`,
		`{"command":["ls","a b"],"x":1}`:   "ls 'a b' (and 1 more: x)",
		`{"cmd":"ls"}`:                     "ls",
		`{"command":" \n"}`:                `{"command":" \n"}`,
		`{"command":"view","path":"/etc"}`: `{"command":"view","path":"/etc"}`,
		`"ls"`:                             `"ls"`,
	} {
		require.Equal(t, want, prompt.CommandOf(api.JSON(input)), input)
	}
}
