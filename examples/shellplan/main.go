// Command shellplan is an agent that runs a plan of shell commands and asks before each risky one.
//
//	go run ./examples/shellplan -server http://127.0.0.1:4000
package main

import (
	"fmt"
	"os"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/examples/agents"
)

func main() {
	err := agents.Run(agents.ShellPlanAgent, func(directory string) client.Handler {
		return (&agents.ShellPlan{Directory: directory}).Handle
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "shellplan:", err)
		os.Exit(1)
	}
}
