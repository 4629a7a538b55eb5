// Standard output: what is printed arrives, or the command fails.

package main

import (
	"errors"
	"io"
	"os"
	"sync"
)

// stdout is standard output. It keeps the first error of a write, so that no
// command succeeds whose results were lost: not even one that prints by way of a
// package that looks at no errors.
type stdout struct {
	w io.Writer

	mu     sync.Mutex // guards what follows
	tested bool       // whether it is closed
	err    error
}

// Write implements io.Writer.
func (o *stdout) Write(p []byte) (int, error) {
	if err := o.usable(); err != nil {
		return 0, err
	}
	n, err := o.w.Write(p)
	if err != nil {
		o.fail(err)
	}
	return n, err
}

// usable returns the error of an earlier write, or that of an output that was
// closed when the program started.
func (o *stdout) usable() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.tested {
		o.tested = true
		if f, ok := o.w.(*os.File); ok && closedAtStart(f) {
			o.err = hinted{errors.New("standard output is closed"), "to throw the output away, open /dev/null for writing only: > /dev/null"}
		}
	}
	return o.err
}

func (o *stdout) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}

// lost returns what to report of a command that ended with err: that its output
// was lost, if it does not say so itself.
func (o *stdout) lost(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil || err != nil && !errors.Is(err, errNo) {
		return err
	}
	return o.err
}

// fileOf returns the file that a stream is, if it is one.
func fileOf(stream any) (*os.File, bool) {
	if o, ok := stream.(*stdout); ok {
		stream = o.w
	}
	f, ok := stream.(*os.File)
	return f, ok
}
