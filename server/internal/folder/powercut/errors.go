package powercut

// The error of operations after the power was cut.

import "syscall"

type shortError struct{}

func (shortError) Error() string { return "no space left on device" }
func (shortError) Unwrap() error { return syscall.ENOSPC }
