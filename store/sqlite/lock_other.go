//go:build !linux

package sqlite

import "os"

func lockContents(string) (*os.File, error) { return nil, nil }

func checkName(string) error { return nil }
