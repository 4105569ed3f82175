package agent

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// agentProcess names a process so that a later one with the same id is another.
type agentProcess struct {
	ID int `json:"id,omitzero"`
	// Started is when the process started, in the system's own notation.
	Started string `json:"started,omitempty"`
}

// processOf returns the process with an id; the zero value if there is none.
func processOf(ctx context.Context, id string) agentProcess {
	number, err := strconv.Atoi(id)
	if err != nil || number <= 0 {
		return agentProcess{}
	}
	started := startOf(ctx, number)
	if started == "" {
		return agentProcess{}
	}
	return agentProcess{number, started}
}

// runs reports whether the process is still there.
func (p agentProcess) runs(ctx context.Context) bool {
	return p.ID > 0 && startOf(ctx, p.ID) == p.Started
}

// startOf returns when a process started, "" if it is not there.
func startOf(ctx context.Context, id int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	if err == nil {
		// The name of the program, in parentheses, may have spaces. Two words after it is the state, and
		// the 22nd of all is the start.
		_, words, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		fields := strings.Fields(words)
		if len(fields) > 19 && fields[0] != "Z" {
			return fields[19]
		}
		return ""
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		return ""
	}
	printed, err := exec.CommandContext(ctx, "ps", "-o", "lstart=", "-p", strconv.Itoa(id)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(printed))
}
