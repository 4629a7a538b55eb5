// The flag --summary, which writes the summary of a command to a file as JSON.

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const summaryFlag = "summary"

// bindSummary adds the flag of the commands that print a summary.
func (s *shell) bindSummary(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.summaryFile, summaryFlag, "", "write the object of --json to `FILE` instead of printing a summary")
}

// checkSummary refuses to write the summary where it would replace something else: a
// file that the command line names in another place, or one that is not a summary.
func (s *shell) checkSummary(flags *pflag.FlagSet, args []string) error {
	if s.summaryFile == "" {
		return nil
	}
	if err := checkFolder("--summary", s.summaryFile); err != nil {
		return err
	}
	info, err := os.Stat(s.summaryFile)
	if err == nil && !info.Mode().IsRegular() {
		return nil // a device: nothing is lost
	}
	used := slices.Clone(args)
	flags.Visit(func(f *pflag.Flag) {
		if f.Name != summaryFlag {
			used = append(used, f.Value.String())
		}
	})
	for _, name := range used {
		if filepath.Clean(followed(name)) == filepath.Clean(followed(s.summaryFile)) || err == nil && notInput(name, []string{s.summaryFile}) != nil {
			return fmt.Errorf("--summary %s: the command uses this file for something else", s.summaryFile)
		}
	}
	if err != nil || info.Size() == 0 {
		return nil //nolint:nilerr // it is not there: nothing can be lost
	}
	if head, err := headBytes(s.summaryFile); err != nil || !bytes.HasPrefix(head, []byte(`{"`)) {
		return hinted{fmt.Errorf("--summary %s: %w, and is not a summary", s.summaryFile, errExists), "remove it first, or name another file"}
	}
	return nil
}

// summarized runs a command whose summary may go to a file, which is written even
// if the command ends with an error after its summary.
func (s *shell) summarized(run func() error) error {
	if s.summaryFile == "" {
		return run()
	}
	s.asJSON = true
	err := run()
	if s.collected.Len() == 0 {
		return err
	}
	if failed := s.saveSummary(); failed != nil {
		return failed
	}
	return err
}

// saveSummary writes what was collected: a regular file whole or not at all.
func (s *shell) saveSummary() error {
	info, err := os.Stat(s.summaryFile)
	if err != nil || info.Mode().IsRegular() {
		return writeFile(s.summaryFile, writerTo(func(w io.Writer) error {
			_, err := w.Write(s.collected.Bytes())
			return err
		}))
	}
	f, err := os.OpenFile(s.summaryFile, os.O_WRONLY, 0)
	if err != nil {
		return about(s.summaryFile, cause(err))
	}
	if _, err = f.Write(s.collected.Bytes()); err == nil {
		err = f.Close()
	}
	return about(s.summaryFile, cause(err))
}

// jsonToStdout reports whether the summary goes to standard output.
func (s *shell) jsonToStdout() bool { return s.asJSON && s.summaryFile == "" }

// checkFolder looks for the folder of a file that a flag names and that is written
// at the end: an hour later is too late.
func checkFolder(flag, name string) error {
	if name == "" {
		return nil
	}
	folder := filepath.Dir(followed(name))
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return about(flag+" "+name, fmt.Errorf("%s: %w", folder, cause(err)))
	case !info.IsDir():
		return fmt.Errorf("%s %s: %s is not a folder", flag, name, folder)
	}
	return nil
}
