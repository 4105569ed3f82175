// Command release checks that the configuration of the release build is one that
// goreleaser reads: an unknown member, or one of another type, is an error.
package main

import (
	"fmt"
	"os"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

func main() {
	for _, path := range os.Args[1:] {
		if _, err := config.Load(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
}
