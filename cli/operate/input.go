package operate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// jsonArgument reads a JSON value from an argument, or from the file named by another one;
// nil if neither was given. name is the flag without -json or -file.
func jsonArgument(terminal *console.Console, name, text, path string) (api.JSON, error) {
	value := api.JSON(text)
	switch {
	case path == "-":
		read, err := io.ReadAll(terminal.Stdin)
		if err != nil {
			return nil, fmt.Errorf("read stdin: %w", err)
		}
		value = read
	case path != "":
		read, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		value = read
	case text == "":
		return nil, nil
	}
	if err := checkJSON(value); err != nil {
		flag := name + "-json"
		if path != "" {
			flag = name + "-file"
		}
		return nil, console.Usage("%s: %w", flag, err)
	}
	return value, nil
}

// checkJSON returns an error with the position at which a text is not valid JSON.
func checkJSON(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	_, err := decoder.ReadValue()
	if err == nil {
		if _, err = decoder.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
	}
	at := decoder.InputOffset()
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = syntactic.ByteOffset
	}
	return fmt.Errorf("invalid JSON at character %d", utf8.RuneCount(text[:min(int(at), len(text))])+1)
}

// confirm shows what is about to be written, which must be printable, and asks unless yes
// is set. If the answer is not yes, it prints refused and returns an exit code as an error.
func confirm(terminal *console.Console, yes bool, text, question, refused string) error {
	if yes {
		terminal.Say("%s", text)
		return nil
	}
	return agreed(terminal, text, question, refused, (*console.Prompter).Line)
}

// agreed shows a text, in parts if it is longer than the screen, and asks below each. It returns what confirm returns.
func agreed(terminal *console.Console, text, question, refused string, ask func(p *console.Prompter, prompt string) (string, error)) error {
	prompter := console.NewPrompter(terminal)
	defer prompter.Close()
	pages := terminal.PagesOf("holdpoint: " + text + "\n")
	for i, page := range pages {
		fmt.Fprint(terminal.Stderr, page)
		asks, agrees := question, []string{"y", "yes"}
		if more := strings.Count(strings.Join(pages[i+1:], ""), "\n"); more > 0 {
			asks, agrees = console.Count(more, "more line")+": [enter] reads on [q]uit ", []string{""}
		}
		line, err := ask(prompter, asks)
		if err != nil {
			return console.Usage("%s: answer y, or use --yes", refused)
		}
		if !slices.Contains(agrees, strings.ToLower(line)) {
			terminal.Say("%s", refused)
			return console.ExitWith(console.ExitError)
		}
	}
	return nil
}
