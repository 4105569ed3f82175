//go:build unix && agents

package sdk

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// scenario is an entry of scenarios.json. The tested library performs its steps in order, except
// for the steps in the table in [scene.step].
type scenario struct {
	Name  string `json:"name"`
	Steps []step `json:"steps"`
}

// step is what is to be done, and what must come of it: "expect" is a part of the result, "refused"
// a part of the error. "save" keeps the result under a name, and "$name.member" in a later step
// stands for it. "background" does the step meanwhile, until a "join" of that name.
type step map[string]any

func (s step) text(member string) string {
	text, _ := s[member].(string)
	return text
}

// outcome is what came of a step: a result, a refusal, or a failure of the driver.
type outcome struct {
	Result  any    `json:"result"`
	Refused any    `json:"refused"`
	Failed  string `json:"failed"`
}

// driver does steps with one library. It may be called by several goroutines.
type driver interface {
	do(s step) outcome
}

// scene is a scenario as it is played.
type scene struct {
	*testing.T
	driver  driver
	service *rig.Process
	saved   map[string]any
	behind  map[string]chan outcome
}

// libraries begin a driver of each, for a service at a URL.
var libraries = map[string]func(t *testing.T, url string) driver{
	"go": newGoDriver,
	"typescript": func(t *testing.T, url string) driver {
		project, _ := needNode(t)
		script, err := os.ReadFile("driver.mjs")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(project, "driver.mjs"), script, 0o600))
		return newLineDriver(t, project, "node", "driver.mjs", url)
	},
	"deno": func(t *testing.T, url string) driver {
		project, _ := needNode(t)
		script, err := os.ReadFile("driver.mjs")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(project, "deno.mjs"), script, 0o600))
		return newLineDriver(t, project, needDeno(t), "run", "--quiet", "--allow-net", "--allow-env", "--allow-read", "deno.mjs", url)
	},
	"python": func(t *testing.T, url string) driver {
		return newLineDriver(t, "", needPython(t), "driver.py", url, "sync")
	},
	"python asyncio": func(t *testing.T, url string) driver {
		return newLineDriver(t, "", needPython(t), "driver.py", url, "async")
	},
}

// TestScenarios plays each scenario with each library against the real service.
func TestScenarios(t *testing.T) { //nolint:tparallel // the processes of one suite are enough at a time
	text, err := os.ReadFile("scenarios.json")
	require.NoError(t, err)
	var scenarios []scenario
	require.NoError(t, json.Unmarshal(text, &scenarios))
	require.NotEmpty(t, scenarios)
	for library, begin := range libraries {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			service := rig.Start(t, rig.Options{Database: rig.SQLite(t), Env: []string{"HOLDPOINT_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}})
			driver := begin(t, service.URL())
			for _, scenario := range scenarios {
				t.Run(scenario.Name, func(t *testing.T) {
					s := &scene{T: t, driver: driver, service: service, saved: map[string]any{}, behind: map[string]chan outcome{}}
					s.await("before", s.begin(step{"do": "handled"})) // of the scenario before
					for i, step := range scenario.Steps {
						s.step(fmt.Sprintf("step %d, %s", i+1, step["do"]), step)
					}
				})
			}
		})
	}
}

func (s *scene) step(where string, one step) {
	s.Helper()
	one = step(s.fill(map[string]any(one)).(map[string]any))
	switch one.text("do") {
	case "kill_server":
		s.service.Kill()
	case "start_server":
		s.service.Resume()
	case "join":
		s.check(where, one, s.await(where, s.behind[one.text("background")]))
	case "race":
		s.race(where, one)
	default:
		done := s.begin(one)
		if name := one.text("background"); name != "" {
			s.behind[name] = done
			return
		}
		s.check(where, one, s.await(where, done))
	}
}

// begin has a step done.
func (s *scene) begin(one step) chan outcome {
	done := make(chan outcome, 1)
	go func() { done <- s.driver.do(one) }()
	return done
}

func (s *scene) await(where string, done chan outcome) outcome {
	s.Helper()
	select {
	case o := <-done:
		require.Empty(s.T, o.Failed, where)
		return o
	case <-time.After(rig.Patience):
		require.FailNow(s.T, "it takes too long", where)
		return outcome{}
	}
}

func (s *scene) check(where string, one step, o outcome) {
	s.Helper()
	if want, refused := one["refused"]; refused {
		require.NotNil(s.T, o.Refused, "%s is not refused: %v", where, o.Result)
		s.part(where+": the refusal", want, o.Refused)
		return
	}
	require.Nil(s.T, o.Refused, where)
	if want, given := one["expect"]; given {
		s.part(where, want, o.Result)
	}
	if name := one.text("save"); name != "" {
		s.saved[name] = o.Result
	}
}

// race does its steps at once: one succeeds, and every other is refused.
func (s *scene) race(where string, one step) {
	s.Helper()
	var all []chan outcome
	for _, racer := range one["steps"].([]any) {
		all = append(all, s.begin(racer.(map[string]any)))
	}
	won := 0
	for _, done := range all {
		if o := s.await(where, done); o.Refused == nil {
			won++
		} else {
			s.part(where+": the loser", one["refused"], o.Refused)
		}
	}
	require.Equal(s.T, 1, won, where)
}

// fill replaces what stands for the result of an earlier step.
func (s *scene) fill(value any) any {
	s.Helper()
	switch value := value.(type) {
	case string:
		path, refers := strings.CutPrefix(value, "$")
		if !refers {
			return value
		}
		names := strings.Split(path, ".")
		found, known := s.saved[names[0]]
		require.True(s.T, known, value)
		for _, name := range names[1:] {
			found = found.(map[string]any)[name]
			require.NotNil(s.T, found, value)
		}
		return found
	case []any:
		filled := make([]any, len(value))
		for i := range value {
			filled[i] = s.fill(value[i])
		}
		return filled
	case map[string]any:
		filled := map[string]any{}
		for name := range value {
			filled[name] = s.fill(value[name])
		}
		return filled
	}
	return value
}

// part requires what is wanted: members of objects, among others; every element of an array, in
// order, but "kinds", which need only be there.
func (s *scene) part(where string, want, got any) {
	s.Helper()
	members, isObject := want.(map[string]any)
	if !isObject {
		require.Equal(s.T, want, got, where)
		return
	}
	object, isObject := got.(map[string]any)
	require.True(s.T, isObject, "%s: %v", where, got)
	for name, member := range members {
		if name == "kinds" {
			require.Subset(s.T, object[name], member, where)
			continue
		}
		s.part(where+"."+name, member, object[name])
	}
}
