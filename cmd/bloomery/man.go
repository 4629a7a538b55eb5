package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newMan() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print the manual",
		Long: `man prints the manual of bloomery, or of one command, in the form that the program man
shows and packages install.`,
		Example: `  bloomery man > bloomery.1
  bloomery man check > bloomery-check.1`,
		Args: between(0, 1, "at most one command"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		of := cmd.Root()
		if len(args) > 0 {
			found, _, err := of.Find(args)
			if err != nil || found == of {
				return fmt.Errorf("man: %w", unknownCommand(of, args))
			}
			of = found
		}
		_, err := io.WriteString(cmd.OutOrStdout(), manPage(of))
		return err
	}
	return cmd
}

// exitCodes are those of the manual, with their meaning.
var exitCodes = []struct {
	code int
	text string
}{
	{exitOK, "yes, found, done"},
	{exitNo, "check or diff answered no; not an error"},
	{exitUsage, "wrong usage, or input or output failed"},
	{exitLimit, "a limit was reached: the capacity was passed, or the filter is full"},
	{exitBad, "a file is corrupt or does not fit"},
	{exitInterrupted, "interrupted; nothing partial is left behind"},
	{exitPipe, "who read the output went away"},
}

// manPage returns the manual of a command.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"bloomery\" \"bloomery manual\"\n", strings.ToUpper(roff(name)))
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

// documented are the commands below one that users should know.
func documented(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			all = append(all, c)
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

// defaultText tells the value of a flag that is not given.
func defaultText(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "[]":
		return ""
	}
	return " (default " + f.DefValue + ")"
}
