package postgrestest

import "syscall"

func endWithParent(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account, Pdeathsig: syscall.SIGINT}
}
