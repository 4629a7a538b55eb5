// The root command, which has all others.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// run runs one command line and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	checked := &stdout{w: out}
	root := newRoot(checked)
	root.SetArgs(append([]string{}, args...)) // of nil, cobra would take those of the process
	root.SetIn(in)
	root.SetErr(errOut)
	err := checked.lost(root.ExecuteContext(ctx))
	report(errOut, err)
	return exitCode(err)
}

// newRoot returns the root command with all subcommands, which print to out; nil
// is that of the process.
func newRoot(out io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "bloomery",
		Short: "Is this key in the set? Membership filters as a server and on the command line",
		Long: `bloomery answers one question fast and in little memory: is this key in the set?
"No" is certain; "yes" is wrong at a false positive rate that you choose.`,
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		Version:                    thisBuild().String(),
		Args:                       unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetOut(out) // first: the command completion takes it as it finds it
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		said := prefixed(cmd, worded{err, parsing.ReplaceAllString(err.Error(), "")})
		if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			if hint := fileForNumber(wrong.GetFlag(), wrong.GetValue()); hint != "" {
				return hinted{said, hint}
			}
		}
		if none, ok := errors.AsType[*pflag.NotExistError](err); ok && none.GetSpecifiedShortnames() == "" {
			if like := nearest(cmd.Flags(), none.GetSpecifiedName()); like != "" {
				return hinted{said, "did you mean --" + like + "?"}
			}
		}
		return usage(cmd, said)
	})
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages", fmt.Sprintf("FlagUsagesWrapped %d", defaultWidth)))
	addGroup(root, "start", "Start with:", newPlan(), newBuild(), newCheck(), newDedupe(), newServe())
	addGroup(root, "ask", "Look into filters:", newCount(), newGet(), newWhich(), newInspect(), newDiff())
	addGroup(root, "make", "Make and change filters:", newCreate(), newAdd(), newRemove(), newCorrect(), newMerge(), newIntersect(), newPatch(),
		newFold(), newGrow(), newNoise(), newConvert())
	addGroup(root, "copies", "Keep copies up to date:", newPublish(), newFollow())
	addGroup(root, "server", "Around a server:", newLoad(), newPing(), newTop(), newCluster(), newConfig(), newDoctor(), newBackup(), newPage())
	root.AddCommand(newBench(), newMan(), newVersion())
	strict(root)
	completeAll(root)
	return root
}

// addGroup adds commands that the help lists together.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// fileForNumber returns a hint if the value of a flag, which is none, is the name of
// a file: then the value was forgotten.
func fileForNumber(f *pflag.Flag, value string) string {
	examples := exampleValues[f.Value.Type()]
	if _, err := os.Stat(value); err != nil || len(examples) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is a file, and --%s takes a value before it: --%s %s %s", value, f.Name, f.Name, examples[0], value)
}

// parsing is what strconv says before the cause, of what the user knows.
var parsing = regexp.MustCompile(`strconv\.\w+: parsing "[^"]*": `)

// prefixed puts the name of a command before an error; that of the root is there
// already.
func prefixed(cmd *cobra.Command, err error) error {
	if !cmd.HasParent() {
		return err
	}
	return fmt.Errorf("%s: %w", nameOf(cmd), err)
}

// strict makes the commands that come with cobra refuse what they do not know.
func strict(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Short = "Print completions for a shell: bash, zsh, fish or powershell"
			cmd.Args = cobra.ArbitraryArgs
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return hinted{fmt.Errorf("completion: unknown shell %q", args[0]), "one of bash, fish, powershell, zsh"}
				}
				return cmd.Help()
			}
		case "help":
			cmd.Short = "Print the help of a command"
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				of, _, err := cmd.Root().Find(args)
				if err != nil || of == cmd.Root() && len(args) > 0 {
					return unknownCommand(cmd.Root(), args)
				}
				return of.Help()
			}
		}
	}
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
