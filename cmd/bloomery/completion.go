// What shells offer when a flag or an argument is completed.

package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeWords makes shells offer words as values of a flag.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	// It fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeList is completeWords for a flag that takes a list, separated by
// commas: what is typed already stays.
func completeList(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var all []string
		for _, w := range words {
			if !strings.Contains(","+before, ","+w+",") {
				all = append(all, before+w)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// exampleValues are offered for a flag by what its help calls the value.
var exampleValues = map[string][]string{
	"N":        {"1000", "10k", "1M", "1e9"},
	"N/s":      {"1k/s", "50k/s", "1M/s"},
	"N,P":      {"1M,1%", "1M,0.1%"},
	"P":        {"1%", "0.1%", "0.01%", "1in1000"},
	"X":        {"50%", "1", "2"},
	"SIZE":     {"64MiB", "256MiB", "1GiB", "4GiB"},
	"bytes":    {"256MiB", "1GiB", "4GiB"},
	"duration": {"10s", "1m", "1h", "24h"},
	"DURATION": {"10s", "1m", "1h", "24h"},
	"COLUMNS":  {"1", "2", "1,3", "2-"},
	"TEXT":     {",", `\t`},
	"ADDRESS":  {"127.0.0.1:6379", "unix:/run/bloomery.sock"},
	"list":     {"127.0.0.1:6379", "127.0.0.1:8379"},
	"S":        {randomSeed, "1"},
}

// completeAll gives all flags that have no completion of their own one by what
// their help calls the value: files for a FILE, folders for a FOLDER, examples
// for numbers, and nothing for other texts.
func completeAll(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		completeAll(c)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		value, _ := pflag.UnquoteUsage(f)
		switch {
		case value == "" || completes(cmd, f):
		case value == "FILE":
			_ = cmd.MarkFlagFilename(f.Name)
		case value == "FOLDER":
			_ = cmd.MarkFlagDirname(f.Name)
		default:
			completeWords(cmd, f.Name, exampleValues[value]...)
		}
	})
}

// completes reports whether a flag has a completion of its own: words, files or
// folders.
func completes(cmd *cobra.Command, f *pflag.Flag) bool {
	_, words := cmd.GetFlagCompletionFunc(f.Name)
	_, files := f.Annotations[cobra.BashCompFilenameExt]
	_, folders := f.Annotations[cobra.BashCompSubdirsInDir]
	return words || files || folders
}

// firstIsFile completes the first argument with files, and others with nothing.
func firstIsFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
