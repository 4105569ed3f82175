//go:build !unix

package postgrestest

import "context"

func startLocal(context.Context, bool) (*server, error) { return nil, errNoBinaries }
