//go:build unix && faults

package neighbours

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Variables of an attacker's process: its name, the service and its credential.
const (
	attackVariable = "HOLDPOINT_NEIGHBOURS_ATTACK"
	urlVariable    = "HOLDPOINT_NEIGHBOURS_URL"
	secretVariable = "HOLDPOINT_NEIGHBOURS_SECRET"
)

// attack is an attacker that calls from a process of its own, which has the lowest priority: the
// processors that it needs are not the service's.
type attack struct {
	process *exec.Cmd
	until   io.Closer
	out     io.Reader
}

func (a *attacker) start(url, secret string) (*attack, error) {
	process := exec.Command("nice", "-n", "19", os.Args[0])
	process.Env = append(os.Environ(), attackVariable+"="+a.name, urlVariable+"="+url, secretVariable+"="+secret)
	process.Stderr = os.Stderr
	until, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &attack{process, until, out}, process.Start()
}

// end stops the attacker. It returns how many of its calls were answered, by status.
func (a *attack) end() (statuses map[int]int64, err error) {
	_ = a.until.Close()
	err = json.NewDecoder(a.out).Decode(&statuses)
	if ended := a.process.Wait(); ended != nil {
		err = ended
	}
	return statuses, err
}

// firstAnswer bounds how long an attacker waits for its first answer after it was stopped: on a slow machine
// it has just begun.
const firstAnswer = time.Minute

// runAttacker is the attacker's process. It ends with its input.
func runAttacker(name string) error {
	answered := &tally{statuses: map[int]int64{}, first: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		select {
		case <-answered.first:
		case <-time.After(firstAnswer):
		}
		cancel()
	}()
	for i := range attackers {
		if attackers[i].name == name {
			if err := attackers[i].run(ctx, os.Getenv(urlVariable), os.Getenv(secretVariable), answered); err != nil {
				return err
			}
			return json.NewEncoder(os.Stdout).Encode(answered.statuses)
		}
	}
	return fmt.Errorf("there is no attacker %q", name)
}
