package agents

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// bashInput is the input of the tool bash.
type bashInput struct {
	Command string `json:"command"`
}

type toolCall struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Input bashInput `json:"input"`
}

// toolEvent and toolResultEvent report tool calls to people who watch.
type toolEvent struct {
	Type string `json:"type"`
	toolCall
}

type toolResultEvent struct {
	Type   string     `json:"type"`
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Output stepResult `json:"output"`
}

var errNoPlan = errors.New(`the input has no commands: give {"plan": ["ls", "rm -rf build"]}, or one a line in "prompt"`)

// planOf reads the plan from the input, in the format of any face that can start the run.
func planOf(task *client.Task) ([]string, error) {
	var input struct {
		Plan     []string `json:"plan"`
		Prompt   string   `json:"prompt"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if len(task.Input()) == 0 {
		return nil, errNoPlan
	}
	if err := decode(task.Input(), &input); err != nil {
		return nil, err
	}
	plan := input.Plan
	if len(plan) == 0 && input.Prompt != "" {
		plan = strings.Split(input.Prompt, "\n")
	}
	if len(plan) == 0 && len(input.Messages) > 0 {
		plan = strings.Split(input.Messages[len(input.Messages)-1].Content, "\n")
	}
	commands := []string{}
	for _, line := range plan {
		if command := strings.TrimSpace(line); command != "" {
			commands = append(commands, command)
		}
	}
	if len(commands) == 0 {
		return nil, errNoPlan
	}
	return commands, nil
}

func decode(text api.JSON, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %.80s: %w", text, err)
	}
	return nil
}
