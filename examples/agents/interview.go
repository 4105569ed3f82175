package agents

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// InterviewAgent is the agent id of an [Interview].
const InterviewAgent = "interview"

// Interview asks what a new service should look like, in one form, and writes a file from
// the answers.
type Interview struct {
	// Directory receives the files, named after the runs.
	Directory string
}

// service is built from the answers.
type service struct {
	name     string
	database string
	features []string
	replicas int
}

// Handle is the [client.Handler] of the agent.
func (a *Interview) Handle(ctx context.Context, task *client.Task) error {
	resume, err := task.Suspend(ctx, api.Suspension{SuspensionID: "interview", Questions: interviewQuestions()})
	if err != nil {
		return err // ErrSuspended if there are no answers yet
	}
	asked, err := readAnswers(resume)
	if err != nil {
		return err
	}
	if asked == nil {
		return task.Complete(ctx, map[string]any{"written": nil, "why": "the person would rather not say"})
	}
	// The name contains the run's id, so writing it twice gives the same file.
	path := filepath.Join(a.Directory, task.RunID()+".yaml")
	if err := os.WriteFile(path, []byte(asked.yaml()), 0o600); err != nil {
		return err
	}
	if err := task.Output(ctx, "wrote "+path); err != nil {
		return err
	}
	return task.Complete(ctx, map[string]any{"written": path, "content": asked.yaml()})
}

func interviewQuestions() []api.UserQuestionRequest {
	return []api.UserQuestionRequest{
		{
			ID: "shape", ToolCallID: "ask-shape",
			Questions: []api.UserQuestion{
				{ID: "name", Header: "Name", Question: "What should the service be called?"},
				{ID: "database", Header: "Database", Question: "Which database should it use?", Options: []api.QuestionOption{
					{ID: "postgres", Label: "Postgres", Description: "for many replicas"},
					{ID: "sqlite", Label: "SQLite", Description: "one process, one file"},
				}},
				{ID: "features", Header: "Features", Question: "What does it need from the start?", MultiSelect: true, AllowFreeform: new(true), Options: []api.QuestionOption{
					{ID: "metrics", Label: "Metrics"}, {ID: "tracing", Label: "Tracing"}, {ID: "auth", Label: "Sign-in"},
				}},
			},
		},
		{
			ID: "replicas", ToolCallID: "ask-replicas", Kind: "number",
			Payload:        api.JSON(`{"question":"How many replicas, 1 to 10?"}`),
			ResponseSchema: api.JSON(`{"type":"integer","minimum":1,"maximum":10}`),
		},
	}
}

// readAnswers returns nil if the person declined to answer.
func readAnswers(resume *api.Resume) (*service, error) {
	asked := &service{}
	for _, settled := range resume.Questions {
		if settled.Resolution.Declined {
			return nil, nil
		}
		if settled.Request.ID == "replicas" {
			if err := decode(settled.Resolution.Value, &asked.replicas); err != nil {
				return nil, err
			}
		}
		for _, answer := range settled.Resolution.Answers {
			switch answer.QuestionID {
			case "name":
				asked.name = answer.FreeformAnswer
			case "database":
				asked.database = strings.Join(chosen(answer), ", ")
			case "features":
				asked.features = chosen(answer)
			}
		}
	}
	return asked, nil
}

// chosen returns the selected options and any free text.
func chosen(answer api.LabelledAnswer) []string {
	if answer.FreeformAnswer == "" {
		return answer.SelectedOptionIDs
	}
	return append(answer.SelectedOptionIDs, answer.FreeformAnswer)
}

func (s *service) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %q\ndatabase: %q\nreplicas: %d\nfeatures:\n", s.name, s.database, s.replicas)
	for _, feature := range s.features {
		fmt.Fprintf(&b, "  - %q\n", feature)
	}
	return b.String()
}
