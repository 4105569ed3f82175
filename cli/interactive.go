package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
)

// prompter asks at a terminal: prompts on stderr, answers from stdin (kheish.md
// 1.15).
type prompter struct {
	lines *bufio.Scanner
	to    io.Writer
}

// askAtTerminal fills a resolution with what the person at the terminal answers.
// It asks again after an answer that does not fit; the end of the input is an error.
func askAtTerminal(console *console, request *api.UserQuestionRequest, resolution api.UserQuestionResolution) (api.UserQuestionResolution, error) {
	return newPrompter(console).answers(request, resolution)
}

// answers asks about each question of a request, or for its value.
func (p *prompter) answers(request *api.UserQuestionRequest, resolution api.UserQuestionResolution) (api.UserQuestionResolution, error) {
	if len(request.Questions) == 0 {
		value, err := p.value(request)
		resolution.Value = value
		return resolution, err
	}
	for i := range request.Questions {
		answer, err := p.question(&request.Questions[i])
		if err != nil {
			return resolution, err
		}
		resolution.Answers = append(resolution.Answers, answer)
	}
	return resolution, nil
}

func newPrompter(console *console) *prompter {
	return &prompter{lines: bufio.NewScanner(console.stdin), to: console.stderr}
}

// line reads one line without the blanks around it.
func (p *prompter) line(prompt string) (string, error) {
	fmt.Fprint(p.to, prompt)
	if p.lines.Scan() {
		return strings.TrimSpace(p.lines.Text()), nil
	}
	fmt.Fprintln(p.to)
	if err := p.lines.Err(); err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return "", errNoMoreInput
}

func (p *prompter) tell(text string) { fmt.Fprintln(p.to, printable(text, true)) }

func (p *prompter) question(question *api.UserQuestion) (api.UserQuestionAnswer, error) {
	answer := api.UserQuestionAnswer{QuestionID: question.ID}
	p.tell("\n[" + question.Header + "]\n" + question.Question)
	for i, option := range question.Options {
		line := fmt.Sprintf("  %d) %s", i+1, option.Label)
		if option.ID != option.Label {
			line += " [" + option.ID + "]"
		}
		if option.Description != "" {
			line += " - " + option.Description
		}
		p.tell(line)
	}
	if len(question.Options) == 0 {
		return answer, p.text(&answer)
	}
	prompt := "number, id or label (empty for free text only): "
	if question.MultiSelect {
		prompt = "numbers, ids or labels, with commas between them (empty for free text only): "
	}
	for {
		line, err := p.line(prompt)
		if err != nil {
			return answer, err
		}
		var problem string
		if answer.SelectedOptionIDs, problem = choose(question, line); problem != "" {
			p.tell(problem)
			continue
		}
		if answer.FreeformAnswer, err = p.line("free text (empty for none): "); err != nil {
			return answer, err
		}
		if len(answer.SelectedOptionIDs) > 0 || answer.FreeformAnswer != "" {
			return answer, nil
		}
		p.tell("at least one answer is needed")
	}
}

// text asks for free text, which is all that a question without options takes.
func (p *prompter) text(answer *api.UserQuestionAnswer) error {
	for {
		line, err := p.line("answer: ")
		if err != nil {
			return err
		}
		if line != "" {
			answer.FreeformAnswer = line
			return nil
		}
		p.tell("an answer is needed")
	}
}

// choose reads a choice of options; problem says what does not fit.
func choose(question *api.UserQuestion, line string) (optionIDs []string, problem string) {
	if line == "" {
		return nil, ""
	}
	// A label may hold a comma itself.
	if id, found := optionOf(question, line); found {
		return []string{id}, ""
	}
	for name := range strings.SplitSeq(line, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		id, found := optionOf(question, name)
		switch {
		case !found:
			return nil, fmt.Sprintf("%q is none of the options", name)
		case !slices.Contains(optionIDs, id):
			optionIDs = append(optionIDs, id)
		}
	}
	if len(optionIDs) > 1 && !question.MultiSelect {
		return nil, "only one option may be chosen"
	}
	return optionIDs, ""
}

// optionOf finds an option by its id, its label, or its place in the list. A text
// that is both the id of one and the place of another means the id.
func optionOf(question *api.UserQuestion, name string) (id string, found bool) {
	for _, same := range []func(api.QuestionOption) bool{
		func(o api.QuestionOption) bool { return o.ID == name },
		func(o api.QuestionOption) bool { return strings.EqualFold(o.ID, name) },
		func(o api.QuestionOption) bool { return strings.EqualFold(o.Label, name) },
	} {
		if i := slices.IndexFunc(question.Options, same); i >= 0 {
			return question.Options[i].ID, true
		}
	}
	if place, err := strconv.Atoi(name); err == nil && place >= 1 && place <= len(question.Options) {
		return question.Options[place-1].ID, true
	}
	return "", false
}

// value asks for a value typed by a schema. The service checks whether it fits.
func (p *prompter) value(request *api.UserQuestionRequest) (api.JSON, error) {
	p.tell("\n" + textOf(request) + "\nthe value must fit: " + indented(request.ResponseSchema))
	for {
		line, err := p.line("value as JSON: ")
		if err != nil {
			return nil, err
		}
		if value := api.JSON(line); jsontext.Value(value).IsValid(jsontext.AllowDuplicateNames(false)) {
			return value, nil
		}
		p.tell(`that is not JSON; a text is written with quotes: "text"`)
	}
}

// readAll reads the rest of a stream.
func readAll(from io.Reader, into *api.JSON) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read stdin: %w", err)
	}
	*into = text
	return nil
}

// endingReader reads until its context ends, so that a signal is heeded while the
// program waits at a prompt. The read that is under way then is left behind.
type endingReader struct {
	ctx  context.Context //nolint:containedctx // a Read is handed none
	from io.Reader
	// rest is what was read and not handed over yet.
	rest []byte
}

type pieceRead struct {
	piece []byte
	err   error
}

// Read returns the cause of the context once that has ended.
func (r *endingReader) Read(into []byte) (int, error) {
	if len(r.rest) == 0 {
		done := make(chan pieceRead, 1)
		go func() {
			piece := make([]byte, 4<<10)
			n, err := r.from.Read(piece)
			done <- pieceRead{piece[:n], err}
		}()
		select {
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		case read := <-done:
			if len(read.piece) == 0 {
				return 0, read.err
			}
			r.rest = read.piece // an error comes again
		}
	}
	n := copy(into, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
