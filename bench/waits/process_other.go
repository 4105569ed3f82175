//go:build unix && !linux

package main

import "syscall"

// endWithParent cannot be had here: the servers of a program that was killed run on.
func endWithParent(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account}
}
