// Command holdpoint is the service and the commands that call it.
package main

import (
	"context"
	"os"

	"github.com/holdpoint/holdpoint/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr))
}
