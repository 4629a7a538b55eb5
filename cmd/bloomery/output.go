// The flags of commands that write a file, and standard output for data.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// outputFlags say which file a command writes.
type outputFlags struct {
	output    string
	overwrite bool
}

// bindOutput adds -o, which must be given, and --overwrite.
func (o *outputFlags) bindOutput(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to write; - is standard output")
	bindOverwrite(cmd.Flags(), &o.overwrite)
	requireOutput(cmd)
}

// bindOverwrite adds the flag of the commands that write a new file.
func bindOverwrite(f *pflag.FlagSet, overwrite *bool) {
	f.BoolVar(overwrite, "overwrite", false, "replace the file that is written if it exists")
}

// checkOutput refuses a file that must not be written: one that exists, unless
// it may be overwritten, and a standard output that is closed or a terminal. Commands call it
// before they work, and save does again before the file is there.
func (s *shell) checkOutput(name string, overwrite bool) error {
	if name == "" {
		return errNoName
	}
	if name == "-" {
		if s.terminal(s.out) {
			return hinted{errors.New("standard output is a terminal, and what is written is not text"), "write to a file, or send it to a command: | bloomery check - VALUE"}
		}
		return s.checkStdout()
	}
	info, err := os.Lstat(name)
	switch {
	case err != nil || overwrite:
		return nil //nolint:nilerr // whatever it is, writing the file shows it
	case info.IsDir():
		return fmt.Errorf("%s: is a folder", name)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil // a device: nothing is lost
	}
	return hinted{fmt.Errorf("%s: %w", name, errExists), "--overwrite replaces it"}
}

// errJSONOutput refuses two things on one stream.
var errJSONOutput = errors.New("--json and -o - would both write to standard output")

// errNoName is what the system calls a file that does not exist.
var errNoName = errors.New("the name of a file is empty: is a variable not set?")

// errExists refuses to replace a file.
var errExists = errors.New("file exists")

// checkStdout refuses a standard output that is closed before the work begins.
func (s *shell) checkStdout() error {
	if o, ok := s.out.(*stdout); ok {
		return o.usable()
	}
	return nil
}

// data returns standard output for data. A write that blocks, because nobody
// reads the pipe, ends with ctx.
func (s *shell) data(ctx context.Context) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		return abandon(ctx, func() (int, error) { return s.out.Write(p) })
	})
}

// abandon runs f and returns its result, or the error of ctx as soon as that is
// cancelled. Then f goes on for a while without anybody waiting for it, so it
// must not own files that have to be removed.
func abandon[T any](ctx context.Context, f func() (T, error)) (T, error) {
	if err := ctx.Err(); err != nil {
		var none T
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
