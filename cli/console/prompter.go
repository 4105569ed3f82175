package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/prompt"
)

// ErrNoMoreInput is returned if stdin ended before all questions were answered.
var ErrNoMoreInput = errors.New("the input ended before the question was answered; nothing was sent")

// Prompter asks a person at a terminal. It prompts on stderr and reads stdin, so that
// stdout is free for scripts.
type Prompter struct {
	input *input
	to    io.Writer
	now   func() time.Time
	// until ends an obsolete prompt.
	until context.Context //nolint:containedctx // of one prompt; see Within
}

// NewPrompter returns a prompter at the terminal. The caller must close it.
func NewPrompter(terminal *Console) *Prompter {
	return &Prompter{
		input: &input{from: terminal.Stdin, lines: make(chan string), wanted: make(chan struct{}, 1), over: make(chan struct{})},
		to:    terminal.Stderr, now: terminal.Now, until: context.Background(),
	}
}

// Close ends all prompts, including prompts of Within. Call it once.
func (p *Prompter) Close() { close(p.input.over) }

// Within returns a prompter at the same terminal whose prompts end with the cause of ctx.
// Text typed without Enter goes to the next prompt.
func (p *Prompter) Within(ctx context.Context) *Prompter {
	return &Prompter{input: p.input, to: p.to, now: p.now, until: ctx}
}

// input reads lines on demand in its own goroutine, because a read from a terminal cannot
// be interrupted.
type input struct {
	from   io.Reader
	lines  chan string
	wanted chan struct{}
	over   chan struct{}
	begin  sync.Once
	// reading reports that a requested line has not come yet; only the prompter uses it.
	reading bool
	// err is why there are no more lines; read it after lines is closed.
	err error
}

func (i *input) start() {
	i.begin.Do(func() {
		go func() {
			defer close(i.lines)
			scanner := bufio.NewScanner(i.from)
			for i.isWanted() && scanner.Scan() {
				select {
				case i.lines <- scanner.Text():
				case <-i.over:
				}
			}
			i.err = scanner.Err()
		}()
	})
	if !i.reading {
		i.reading = true
		i.wanted <- struct{}{}
	}
}

// isWanted waits until a line is wanted. It returns false if none will be.
func (i *input) isWanted() bool {
	select {
	case <-i.wanted:
		return true
	case <-i.over:
		return false
	}
}

// Answers shows the questions of a request and asks for the answers, or for its value, as [Prompter.Ask] does.
func (p *Prompter) Answers(request *api.UserQuestionRequest, resolution api.UserQuestionResolution) (api.UserQuestionResolution, error) {
	if len(request.Questions) < 2 {
		p.Show(request)
		return p.Ask(request, resolution)
	}
	p.payload(request)
	for i := range request.Questions {
		p.show(&request.Questions[i])
		answer, err := p.question(&request.Questions[i])
		if err != nil {
			return resolution, err
		}
		resolution.Answers = append(resolution.Answers, answer)
	}
	return resolution, nil
}

// Show prints the questions of a request with their options, or what its value must be. Of the payload it prints what
// the questions do not say.
func (p *Prompter) Show(request *api.UserQuestionRequest) {
	p.payload(request)
	for i := range request.Questions {
		p.show(&request.Questions[i])
	}
	if len(request.Questions) == 0 {
		p.tell("\n" + prompt.QuestionText(request) + "\nthe value must fit: " + prompt.Indented(request.ResponseSchema))
	}
}

func (p *Prompter) payload(request *api.UserQuestionRequest) {
	if !prompt.OnlyQuestion(request) {
		p.tell("\npayload: " + prompt.Indented(request.Payload))
	}
}

// Ask asks each question that [Prompter.Show] printed, or for the value, and returns the resolution with the answers. It
// asks again after an invalid answer. Errors: [ErrNoMoreInput]; errors from reading stdin; the cause of a context of
// [Prompter.Within].
func (p *Prompter) Ask(request *api.UserQuestionRequest, resolution api.UserQuestionResolution) (api.UserQuestionResolution, error) {
	if len(request.Questions) == 0 {
		value, err := p.value(request)
		resolution.Value = value
		return resolution, err
	}
	for i := range request.Questions {
		if len(request.Questions) > 1 {
			p.tell("[" + request.Questions[i].Header + "]")
		}
		answer, err := p.question(&request.Questions[i])
		if err != nil {
			return resolution, err
		}
		resolution.Answers = append(resolution.Answers, answer)
	}
	return resolution, nil
}

// Line reads one line and trims it. Errors: see [Prompter.Answers].
func (p *Prompter) Line(prompt string) (string, error) {
	fmt.Fprint(p.to, prompt)
	p.input.start()
	select {
	case line, more := <-p.input.lines:
		p.input.reading = !more // after the end there is nothing to read
		if more {
			return strings.TrimSpace(line), nil
		}
	case <-p.until.Done():
		fmt.Fprintln(p.to)
		return "", context.Cause(p.until)
	}
	fmt.Fprintln(p.to)
	if err := p.input.err; err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return "", ErrNoMoreInput
}

// tooSoon is how long after a request was shown a line cannot be about it.
const tooSoon = 600 * time.Millisecond

// Aimed is Line for a decision about what was just shown. At a terminal it drops lines that were typed before, or too
// soon after: a key pressed twice must not decide the next request. An empty line is never dropped.
func (p *Prompter) Aimed(prompt string) (string, error) {
	if !IsTerminal(p.input.from) {
		return p.Line(prompt)
	}
	var early []string
	for lineWaits(p.input.from) {
		line, err := p.Line("")
		if err != nil || line == "" {
			p.refuse(early...)
			return line, err
		}
		early = append(early, line)
	}
	p.refuse(early...)
	for shown := p.now(); ; {
		line, err := p.Line(prompt)
		if err != nil || line == "" || p.now().Sub(shown) >= tooSoon {
			return line, err
		}
		p.refuse(line)
	}
}

// refuse says that lines decide nothing.
func (p *Prompter) refuse(lines ...string) {
	for _, line := range lines {
		p.tell(fmt.Sprintf("%q was typed before you could read this: it does nothing", line))
	}
}

// Hidden is Line without echo on a terminal. Only the person can end the prompt.
func (p *Prompter) Hidden(prompt string) (string, error) {
	file, ok := p.input.from.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || p.input.reading {
		return p.Line(prompt)
	}
	fmt.Fprint(p.to, prompt)
	text, err := term.ReadPassword(int(file.Fd()))
	fmt.Fprintln(p.to)
	switch {
	case errors.Is(err, io.EOF):
		return "", ErrNoMoreInput
	case err != nil:
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// ask returns the function that reads answers, without echo if they are sensitive.
func (p *Prompter) ask(sensitive bool) func(prompt string) (string, error) {
	if sensitive {
		return p.Hidden
	}
	return p.Line
}

func (p *Prompter) tell(text string) { fmt.Fprintln(p.to, Printable(text, true)) }

// show prints a question with its options, numbered.
func (p *Prompter) show(question *api.UserQuestion) {
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
}

func (p *Prompter) question(question *api.UserQuestion) (api.UserQuestionAnswer, error) {
	answer := api.UserQuestionAnswer{QuestionID: question.ID}
	if len(question.Options) == 0 {
		return answer, p.text(&answer, p.ask(question.Sensitive))
	}
	prompt := "number, id or label"
	if question.MultiSelect {
		prompt = "numbers, ids or labels, with commas between them"
	}
	if question.TakesFreeform() {
		prompt += " (empty for free text only)"
	}
	prompt += ": "
	for {
		line, err := p.ask(question.Sensitive)(prompt)
		if err != nil {
			return answer, err
		}
		var problem string
		if answer.SelectedOptionIDs, problem = choose(question, line); problem != "" {
			if question.Sensitive {
				problem = "that is none of the options, or names two of them"
			}
			p.tell(problem)
			continue
		}
		if question.TakesFreeform() {
			if answer.FreeformAnswer, err = p.ask(question.Sensitive)("free text (empty for none): "); err != nil {
				return answer, err
			}
		}
		if len(answer.SelectedOptionIDs) > 0 || answer.FreeformAnswer != "" {
			return answer, nil
		}
		p.tell("at least one answer is needed")
	}
}

// text asks for free text, the only answer to a question without options.
func (p *Prompter) text(answer *api.UserQuestionAnswer, read func(prompt string) (string, error)) error {
	for {
		line, err := read("answer: ")
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

// choose parses a choice of options; problem says what is wrong.
func choose(question *api.UserQuestion, line string) (optionIDs []string, problem string) {
	if line == "" {
		return nil, ""
	}
	// A label may contain a comma.
	if id, found := shownOption(question, line); found {
		return []string{id}, ""
	}
	optionIDs, unknown, several := optionsOf(question, line)
	switch {
	case several:
		return nil, "the labels can be read in several ways: choose by number"
	case unknown != "":
		return nil, noShownOption(question, unknown)
	}
	if len(optionIDs) > 1 && !question.MultiSelect {
		return nil, "only one option may be chosen"
	}
	return optionIDs, ""
}

// optionsOf parses a list of options separated by commas. Labels may contain commas
// themselves. It returns the first part that matches no option or is ambiguous.
func optionsOf(question *api.UserQuestion, line string) (optionIDs []string, unknown string, several bool) {
	var items []string
	for item := range strings.SplitSeq(line, ",") {
		if strings.TrimSpace(item) != "" {
			items = append(items, item)
		}
	}
	optionIDs, read, several := prompt.ReadList(items, maxLabelItems, func(label string) (string, int) {
		if id, found := shownOption(question, label); found {
			return id, 1
		}
		return "", 0
	})
	if read < len(items) {
		return nil, strings.TrimSpace(items[read]), false
	}
	return optionIDs, "", several
}

// maxLabelItems bounds the commas in a label within a list.
const maxLabelItems = 32

// value asks for a value of a schema. The service validates it.
func (p *Prompter) value(request *api.UserQuestionRequest) (api.JSON, error) {
	for {
		line, err := p.ask(request.Sensitive)("value as JSON: ")
		if err != nil {
			return nil, err
		}
		if value := api.JSON(line); jsontext.Value(value).IsValid(jsontext.AllowDuplicateNames(false)) {
			return value, nil
		}
		p.tell(`that is not JSON; a text is written with quotes: "text"`)
	}
}
