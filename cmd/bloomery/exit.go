// Errors as users see them: exit codes, texts and hints.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/follow"
	"github.com/bloomery/bloomery/server"
)

// Exit codes, those of grep and some more; the manual lists them.
const (
	exitOK          = 0
	exitNo          = 1   // the question was answered with no
	exitUsage       = 2   // wrong usage, or input and output failed
	exitLimit       = 3   // a limit was reached: capacity passed, filter full
	exitBad         = 4   // a file is corrupt or does not fit
	exitInterrupted = 130 // by a signal; nothing partial is left behind
	exitPipe        = 141 // the reader closed the pipe
)

var (
	// errNo is the answer no, as of check and diff. It is not printed.
	errNo = errors.New("no")
	// errLimit means that a limit was reached, as ErrFull does.
	errLimit = errors.New("limit reached")
)

// hinted is an error with advice.
type hinted struct {
	error
	hint string
}

// Unwrap returns the error without the advice.
func (h hinted) Unwrap() error { return h.error }

// worded is an error that is printed in other words.
type worded struct {
	error
	text string
}

// Error returns the other words.
func (w worded) Error() string { return w.text }

// Unwrap returns the error in its own words.
func (w worded) Unwrap() error { return w.error }

// exitCode returns the exit code for err.
func exitCode(err error) int {
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil:
		return exitOK
	case is(errNo):
		return exitNo
	case is(syscall.EPIPE):
		return exitPipe
	case is(context.Canceled):
		return exitInterrupted
	case is(bloomery.ErrFull, errLimit):
		return exitLimit
	case is(bloomery.ErrCorrupt, bloomery.ErrVersion, bloomery.ErrIncompatible, bloomery.ErrKey, lines.ErrCorrupt, server.ErrRemoved, follow.ErrOlder, follow.ErrUntrusted, follow.ErrOther):
		return exitBad
	}
	return exitUsage
}

// report prints an error as one line, and a second one with its hint, unless
// the exit code says it all.
func report(w io.Writer, err error) {
	switch exitCode(err) {
	case exitOK, exitNo, exitPipe:
		return
	}
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	fmt.Fprintln(w, "bloomery:", visible(strings.ReplaceAll(text, "\n", "; ")))
	if hint := hintOf(err); hint != "" {
		fmt.Fprintln(w, "hint:", visible(hint))
	}
}

// hintOf returns the advice that comes with an error, or that always helps.
func hintOf(err error) string {
	if h, ok := errors.AsType[hinted](err); ok {
		return h.hint
	}
	if f, ok := errors.AsType[*lines.FormatError](err); ok {
		if f.Text {
			return "convert it first: " + f.Command + " FILE | bloomery ...; --raw takes its bytes as they are"
		}
		return "decompress it first: " + f.Command + " FILE | bloomery ..."
	}
	switch {
	case errors.Is(err, lines.ErrTooLong):
		return "--max-line allows longer ones"
	case errors.Is(err, bloomery.ErrKey):
		return "give the key that the filter was made with, by --key-file"
	case errors.Is(err, bloomery.ErrVersion):
		return "a newer bloomery may have written it"
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full; a file that was to be replaced is as it was"
	case strings.Contains(err.Error(), errServerSays.Error()+": NOAUTH "):
		return "put the password in BLOOMERY_PASSWORD, and the name of its user in BLOOMERY_USER"
	}
	return ""
}

// packages are those whose errors begin with their name and an operation, which
// mean nothing to a reader at a terminal.
var packages = []string{"file", "codec", "bloom", "counting", "cuckoo", "quotient", "fuse", "ribbon", "exact", "compose", "sizing", "shards", "dedupe", "local",
	"foreign", "guava", "dcso", "bitsandblooms", "parquet", "cassandra", "rocksdb", "leveldb", "bip37", "bip158"}

// about returns err for people: with the name of the file in front, once, and
// without the packages that it came through.
func about(name string, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for trimmed := true; trimmed; {
		trimmed = false
		first, rest, ok := strings.Cut(text, ": ")
		if again := strings.Index(rest, ": "+first+": "); ok && again >= 0 && slices.Contains(packages, rest[:strings.Index(rest, ": ")]) {
			text, trimmed = rest, true // the cause says it itself, behind its package
			continue
		}
		for _, p := range packages {
			if ok && first == p {
				if _, behind, ok := strings.Cut(rest, ": "); ok {
					text, trimmed = behind, true
				}
			}
		}
	}
	if name != "" && !strings.HasPrefix(text, name+": ") {
		text = name + ": " + text
	}
	return worded{err, text}
}
