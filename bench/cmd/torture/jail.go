//go:build linux

package main

// The place where it all happens: processes and mounts that nobody else sees.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideEnv marks the process that runs inside.
const insideEnv = "BLOOMERY_TORTURE_INSIDE"

// enter runs this program once more, in namespaces of its own for processes and
// mounts, and returns its exit code. When that process ends, however it does, the
// kernel kills all that it has started and undoes its mounts: neither a panic nor
// kill -9 leaves anything behind but files. ok is false if this system does not
// allow it.
func enter() (code int, ok bool) {
	if os.Geteuid() != 0 || os.Getenv(insideEnv) != "" {
		return 0, false
	}
	runtime.LockOSThread() // Pdeathsig is about the thread
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// A group of its own: Ctrl-C reaches it through here, once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		signal.Stop(signals)
		return 0, false
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	err := cmd.Wait()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return max(exit.ExitCode(), 1), true
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		return 1, true
	}
	return 0, true
}

// inside reports whether this process has its own mounts, and keeps them from others.
func inside() bool {
	return os.Getenv(insideEnv) != "" && unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") == nil
}
