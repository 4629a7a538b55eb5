// The flag --summary, which writes the summary of a command to a file as JSON.

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// bindSummary adds the flag of the commands that print a summary.
func (s *shell) bindSummary(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.summaryFile, "summary", "", "write the object of --json to `FILE` instead of printing a summary")
}

// summarized runs a command whose summary may go to a file, which is written even
// if the command ends with an error after its summary.
func (s *shell) summarized(run func() error) error {
	if s.summaryFile == "" {
		return run()
	}
	if err := checkFolder("--summary", s.summaryFile); err != nil {
		return err
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
