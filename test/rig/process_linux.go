package rig

import "syscall"

// endWithParent ends a process with the test process, however that ends.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
