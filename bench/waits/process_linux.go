package main

import "syscall"

// endWithParent makes the kernel kill a process when the thread that started it ends.
// Postgres is told to shut down immediately instead.
func endWithParent(account *syscall.Credential) *syscall.SysProcAttr {
	signal := syscall.SIGKILL
	if account != nil {
		signal = syscall.SIGQUIT
	}
	return &syscall.SysProcAttr{Credential: account, Pdeathsig: signal}
}
