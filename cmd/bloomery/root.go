package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
)

// Exit codes; the manual lists them.
const (
	exitOK    = 0
	exitUsage = 2 // wrong usage, or input and output failed
	exitBad   = 4 // a file is corrupt or of another version
)

// hinted is an error with advice.
type hinted struct {
	error
	hint string
}

// Unwrap returns the error without the advice.
func (h hinted) Unwrap() error { return h.error }

// run runs one command line and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(errOut, "bloomery:", err)
	if h, ok := errors.AsType[hinted](err); ok {
		fmt.Fprintln(errOut, "hint:", h.hint)
	}
	if errors.Is(err, bloomery.ErrCorrupt) || errors.Is(err, bloomery.ErrVersion) {
		return exitBad
	}
	return exitUsage
}

// newRoot returns the root command with all subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "bloomery",
		Short: "Is this key in the set? Membership filters as a server and on the command line",
		Long: `bloomery answers one question fast and in little memory: is this key in the set?
"No" is certain; "yes" is right up to an error rate that you choose.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return hinted{err, "see " + cmd.CommandPath() + " --help"}
	})
	root.AddCommand(newServe(), newDoctor(), newBackup(), newVersion())
	return root
}
