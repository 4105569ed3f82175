// Command holdpoint is the service and the commands that call it.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/holdpoint/holdpoint/cli"
)

func main() {
	// Most commands end before their garbage is worth collecting. serve stays and keeps Go's default.
	if _, set := os.LookupEnv("GOGC"); !set && len(os.Args) > 1 && os.Args[1] != "serve" {
		debug.SetGCPercent(400)
	}
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr))
}
