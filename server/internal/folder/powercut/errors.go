package powercut

import "syscall"

type shortError struct{}

func (shortError) Error() string { return "no space left on device" }
func (shortError) Unwrap() error { return syscall.ENOSPC }
