// Command interview is an agent that asks a person several questions and writes a file from
// the answers.
//
//	go run ./examples/interview -server http://127.0.0.1:4000
package main

import (
	"fmt"
	"os"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/examples/agents"
)

func main() {
	err := agents.Run(agents.InterviewAgent, func(directory string) client.Handler {
		return (&agents.Interview{Directory: directory}).Handle
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "interview:", err)
		os.Exit(1)
	}
}
