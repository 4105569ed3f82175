package console

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// terminal opens a pseudo-terminal: the person's end and the program's end.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	var number uint32
	control := func(request uintptr, argument *uint32) {
		_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), request, uintptr(unsafe.Pointer(argument))) //nolint:gosec // an ioctl takes an address
		require.Zero(t, failed)
	}
	unlocked := uint32(0)
	control(syscall.TIOCSPTLCK, &unlocked)
	control(syscall.TIOCGPTN, &number)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	return person, program
}

// A sensitive answer is not echoed, other answers are, and both are read completely.
func TestSensitiveAnswersAreNotEchoed(t *testing.T) {
	t.Parallel()
	person, program := terminal(t)
	prompts, seen := &prompted{person: person, said: map[string]string{"Name?": "ada", "Password?": "hunter2", "Again?": "hunter3"}}, make(chan string)
	go func() {
		text, _ := io.ReadAll(person) // ends with an error when the program's end is closed
		seen <- string(text)
	}()
	prompter := NewPrompter(&Console{Stdin: program, Stderr: prompts})
	request := &api.UserQuestionRequest{Questions: []api.UserQuestion{
		{ID: "name", Question: "Name?"}, {ID: "password", Question: "Password?", Sensitive: true}, {ID: "again", Question: "Again?", Sensitive: true},
	}}
	resolution, err := prompter.Answers(request, api.UserQuestionResolution{})
	require.NoError(t, err)
	var answers []string
	for _, answer := range resolution.Answers {
		answers = append(answers, answer.FreeformAnswer)
	}
	require.Equal(t, []string{"ada", "hunter2", "hunter3"}, answers)
	require.NoError(t, program.Close())
	text := <-seen
	require.NoError(t, person.Close())
	require.Contains(t, text, "ada")
	require.NotContains(t, text, "hunter")
}

// prompted types the answer once the prompt is shown.
type prompted struct {
	person *os.File
	said   map[string]string
	text   bytes.Buffer
}

func (p *prompted) Write(b []byte) (int, error) {
	p.text.Write(b)
	for question, answer := range p.said {
		if strings.Contains(p.text.String(), question) && strings.HasSuffix(p.text.String(), "answer: ") {
			p.text.Reset()
			delete(p.said, question)
			// A hidden prompt turns the echo off right after its text.
			go func() {
				if strings.HasPrefix(answer, "hunter") {
					awaitNoEcho(p.person)
				}
				_, _ = p.person.WriteString(answer + "\n")
			}()
		}
	}
	return len(b), nil
}

// awaitNoEcho returns once the terminal does not echo.
func awaitNoEcho(file *os.File) {
	for {
		var state syscall.Termios
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&state))) //nolint:gosec // an ioctl takes an address
		if state.Lflag&syscall.ECHO == 0 {
			return
		}
	}
}
