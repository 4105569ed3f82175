//go:build unix && !linux

package postgrestest

import "syscall"

// endWithParent is not supported here: the server of a killed test process keeps running.
func endWithParent(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account}
}
