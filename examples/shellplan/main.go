// Command shellplan is an agent that runs a plan of shell commands and asks before each risky one.
//
//	go run ./examples/shellplan -server http://127.0.0.1:4000
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/examples/agents"
)

func main() {
	server := flag.String("server", "http://127.0.0.1:4000", "where holdpoint listens")
	directory := flag.String("directory", ".", "where the agent works")
	flag.Parse()
	if err := work(*server, *directory); err != nil {
		fmt.Fprintln(os.Stderr, "shellplan:", err)
		os.Exit(1)
	}
}

func work(server, directory string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := client.New(server)
	if err != nil {
		return err
	}
	defer c.Close()
	agent := &agents.ShellPlan{Directory: directory}
	worker, err := client.NewWorker(c, client.WorkerOptions{
		AgentIDs: []string{agents.ShellPlanAgent}, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	return worker.Run(ctx, agent.Handle)
}
