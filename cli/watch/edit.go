package watch

import (
	"context"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// edited is the input with which the person allows a request, or why there is none.
type edited struct {
	one   *item
	input api.JSON
	err   error
}

// edit lends the terminal to the person's editor.
func (s *screen) edit() tea.Cmd {
	one := s.allowable()
	if one == nil {
		return nil
	}
	done := edited{one: one}
	return tea.Exec(borrowed(func() (err error) {
		done.input, err = s.editInput(s.ctx, one.approval.Input)
		return err
	}), func(err error) tea.Msg {
		done.err = err
		return done
	})
}

// allowEdited sends the decision about exactly the request whose input was edited.
func (s *screen) allowEdited(done edited) tea.Cmd {
	if done.err != nil {
		s.fail(done.err)
		return nil
	}
	return s.sendDecision(done.one, "allowed with changes", api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: done.input})
}

// editInput opens the editor, shows the changes and asks whether to allow them.
func editInput(terminal *console.Console) func(context.Context, api.JSON) (api.JSON, error) {
	return func(ctx context.Context, input api.JSON) (api.JSON, error) {
		prompter := console.NewPrompter(terminal)
		defer prompter.Close()
		return terminal.ConfirmedEdit(ctx, prompter, input)
	}
}

// borrowed is a tea.ExecCommand that uses the streams of the process.
type borrowed func() error

func (b borrowed) Run() error        { return b() }
func (borrowed) SetStdin(io.Reader)  {}
func (borrowed) SetStdout(io.Writer) {}
func (borrowed) SetStderr(io.Writer) {}
