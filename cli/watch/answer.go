package watch

import (
	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// answered is a person's answer to a question, or why there is none.
type answered struct {
	one        *item
	resolution api.UserQuestionResolution
	err        error
}

// choices returns the options of a question that one of them answers.
func choices(one *item) []api.QuestionOption {
	if one.question == nil || len(one.question.Questions) != 1 || one.question.Questions[0].MultiSelect {
		return nil
	}
	return one.question.Questions[0].Options
}

// pick chooses an option; enter answers with it.
func (s *screen) pick(one *item, at int) {
	options := choices(one)
	if at >= len(options) {
		s.note = howToAnswer(one)
		return
	}
	s.picked = &options[at]
	s.note = console.Printable("enter answers: "+toldApart(options, at), false)
}

// howToAnswer says which keys answer a question.
func howToAnswer(one *item) string {
	switch options := choices(one); {
	case len(options) == 0:
		return "a answers; d declines"
	case one.question.Questions[0].TakesFreeform():
		return "choose an option by its number, then enter; a answers in your own words; d declines"
	}
	return "choose an option by its number, then enter; d declines"
}

// answer sends the option that was picked.
func (s *screen) answer() tea.Cmd {
	one, picked := s.current(), s.picked
	if s.picked = nil; one == nil || s.held() {
		return nil
	}
	return s.resolve(one, "answered", api.UserQuestionResolution{RequestID: one.requestID, Answers: []api.UserQuestionAnswer{
		{QuestionID: one.question.Questions[0].ID, SelectedOptionIDs: []string{picked.ID}},
	}})
}

// write lends the terminal to questions and answers, for a question that takes more than one option.
func (s *screen) write(one *item) tea.Cmd {
	if len(choices(one)) > 0 && !one.question.Questions[0].TakesFreeform() {
		s.note = howToAnswer(one)
		return nil
	}
	s.picked = nil
	done := answered{one: one}
	return tea.Exec(borrowed(func() (err error) {
		done.resolution, err = s.askAnswer(one.question)
		return err
	}), func(err error) tea.Msg {
		done.err = err
		return done
	})
}

// sendAnswer sends the answer to exactly the question that was asked.
func (s *screen) sendAnswer(done answered) tea.Cmd {
	if done.err != nil {
		s.fail(done.err)
		return nil
	}
	return s.resolve(done.one, "answered", done.resolution)
}

// resolve sends the answer to a question.
func (s *screen) resolve(one *item, what string, resolution api.UserQuestionResolution) tea.Cmd {
	return s.send(one, what, func() (err error) {
		params := client.AnswerQuestionParams{Resolution: resolution}
		if one.runID == "" {
			_, err = s.client.AnswerSessionQuestion(s.ctx, one.sessionID, params)
		} else {
			_, err = s.client.AnswerRunQuestion(s.ctx, one.runID, params)
		}
		return err
	})
}

// askAnswer asks for the answers at the terminal.
func askAnswer(terminal *console.Console) func(*api.UserQuestionRequest) (api.UserQuestionResolution, error) {
	return func(request *api.UserQuestionRequest) (api.UserQuestionResolution, error) {
		prompter := console.NewPrompter(terminal)
		defer prompter.Close()
		return prompter.Answers(request, api.UserQuestionResolution{RequestID: request.ID})
	}
}
