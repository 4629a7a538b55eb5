package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// run runs one command line and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // of nil, cobra would take those of the process
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	report(errOut, err)
	return exitCode(err)
}

// newRoot returns the root command with all subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "bloomery",
		Short: "Is this key in the set? Membership filters as a server and on the command line",
		Long: `bloomery answers one question fast and in little memory: is this key in the set?
"No" is certain; "yes" is right up to an error rate that you choose.`,
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		Args:                       unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(cmd, fmt.Errorf("%s: %w", cmd.Name(), err))
	})
	root.AddCommand(
		newPlan(), newBuild(), newCreate(), newAdd(), newCheck(), newDedupe(), newInspect(),
		newMerge(), newIntersect(), newDiff(), newConvert(), newLoad(), newBench(),
		newServe(), newDoctor(), newBackup(), newMan(), newVersion(),
	)
	return root
}

// unknownCommand is the check of arguments of the root, which has none.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		return hinted{err, "did you mean " + strings.Join(like, " or ") + "?"}
	}
	return usage(cmd, err)
}
