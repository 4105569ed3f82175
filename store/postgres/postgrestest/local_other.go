//go:build unix && !linux

package postgrestest

import "syscall"

// endWithParent cannot be had here: a server whose test process was killed runs on.
func endWithParent(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account}
}
