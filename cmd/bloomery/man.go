// The command man, and the text of manual pages.

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newMan() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "man [COMMAND...]",
		Short: "Print the manual",
		Long: `man prints the manual of bloomery, or of one command, in the form that the
program man shows and packages install. --dir writes the pages of all commands
into a folder.`,
		Example: `  bloomery man > bloomery.1
  bloomery man check > bloomery-check.1
  bloomery man config check > bloomery-config-check.1
  bloomery man --dir man1`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if dir != "" {
			if len(args) > 0 {
				return usage(cmd, fmt.Errorf("man: --dir writes all pages: what is %q?", args[0]))
			}
			return writeManual(dir, cmd.Root())
		}
		of, rest, err := cmd.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return fmt.Errorf("man: %w", unknownCommand(of, rest))
		}
		_, err = io.WriteString(cmd.OutOrStdout(), manPage(of))
		return err
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write a page for each command into `FOLDER`, which is made if it is not there")
	return cmd
}

// writeManual writes the pages of a command and of all below it into a folder.
func writeManual(dir string, cmd *cobra.Command) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manuals are for everybody
		return fmt.Errorf("man: %w", err)
	}
	for _, c := range append(documented(cmd), cmd) {
		name := filepath.Join(dir, manName(c)+".1")
		if err := os.WriteFile(name, []byte(manPage(c)), 0o644); err != nil { //nolint:gosec // manuals are for everybody
			return fmt.Errorf("man: %w", err)
		}
	}
	return nil
}

// manName returns the name of the page of a command: bloomery-config-check.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// exitCodes are those of the manual, with their meaning.
var exitCodes = []struct {
	code int
	text string
}{
	{exitOK, "yes, found, done"},
	{exitNo, "check or diff answered no, or ping was asked for a password; not an error"},
	{exitUsage, "wrong usage, or input or output failed"},
	{exitLimit, "a limit was reached: the capacity was passed, or the filter is full"},
	{exitBad, "a file is corrupt or does not fit"},
	{exitInterrupted, "interrupted; nothing partial is left behind"},
	{exitPipe, "the reader closed the pipe"},
}

// manPage returns the manual of a command.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"bloomery %s\" \"bloomery manual\"\n", strings.ToUpper(roff(name)), release)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	manText(&b, "DESCRIPTION", cmd.Long)
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range documented(cmd) {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(c.UseLine()), roff(c.Short))
		}
	}
	if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(flagText(f)), roff(usageText(f)+defaultText(f)))
		})
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, ".SH ALIASES\n%s\n", roff(strings.Join(cmd.Aliases, ", ")))
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.code, roff(e.text))
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(cmd.Parent())))
	}
	return b.String()
}

// manText is a section whose paragraphs are separated by blank lines; indented
// ones stay as they are.
func manText(b *strings.Builder, title, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") {
			fmt.Fprintf(b, ".nf\n%s\n.fi\n", roff(paragraph))
		} else {
			fmt.Fprintf(b, "%s\n", roff(paragraph))
		}
	}
}

// roff takes the special meaning from characters.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// documented are the commands below one that users should know, each before those
// below it. The shells of completion are described with it.
func documented(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() || c.Name() == "help" {
			continue
		}
		all = append(all, c)
		if c.Name() != "completion" {
			all = append(all, documented(c)...)
		}
	}
	return all
}

// flagText is how a flag is given.
func flagText(f *pflag.Flag) string {
	text := "--" + f.Name
	if f.Shorthand != "" {
		text = "-" + f.Shorthand + ", " + text
	}
	if name, _ := pflag.UnquoteUsage(f); name != "" {
		text += " " + strings.ToUpper(name)
	}
	return text
}

// usageText is what a flag means.
func usageText(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	return text
}

// defaultText is the value of a flag that is not given. It does not depend on the
// machine: manuals are made on one and read on another.
func defaultText(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return ""
	}
	return " (default " + f.DefValue + ")"
}
