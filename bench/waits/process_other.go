//go:build unix && !linux

package main

import "syscall"

// endWithParent is not supported on this system: if this program is killed, its servers
// keep running.
func endWithParent(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account}
}
