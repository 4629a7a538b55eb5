// What all commands on files and pipes share: streams, common flags, colours, and
// how numbers are written.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// shell is what all commands on files and pipes have: the streams, and the
// flags that mean the same everywhere.
type shell struct {
	in          io.Reader
	out, errOut io.Writer

	asJSON     bool
	quiet      bool
	verbose    bool
	noProgress bool
	colour     string

	summaryFile string       // where the summary goes as JSON, if not empty
	collected   bytes.Buffer // the summary, for that file

	pipes pipes

	lookup   func(string) (string, bool) // the environment
	terminal func(stream any) bool
	width    func(stream any) int
}

// newShell gives cmd the common flags and makes it run f. Errors of f get the
// name of the command in front.
func newShell(cmd *cobra.Command, f func(ctx context.Context, s *shell, args []string) error) *shell {
	s := &shell{lookup: os.LookupEnv, terminal: isTerminal, width: terminalWidth}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&s.asJSON, "json", false, "write JSON, as described in docs/cli.md")
	flags.BoolVarP(&s.quiet, "quiet", "q", false, "no summary, no progress, no warnings")
	flags.BoolVar(&s.verbose, "verbose", false, "print more on standard error")
	flags.BoolVar(&s.noProgress, "no-progress", false, "no progress line")
	flags.StringVar(&s.colour, "color", "auto", "`WHEN` to use colours: auto, always or never")
	completeWords(cmd, "color", "auto", "always", "never")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s.in, s.out, s.errOut = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
		switch s.colour {
		case "auto", "always", "never":
		default:
			return usage(cmd, fmt.Errorf("%s: --color %q: want auto, always or never", nameOf(cmd), s.colour))
		}
		if err := s.checkSummary(cmd.Flags(), args); err != nil {
			return fmt.Errorf("%s: %w", nameOf(cmd), err)
		}
		defer s.closePipes()
		err := s.withGiven(s.summarized(func() error { return f(cmd.Context(), s, args) }))
		if err == nil {
			return nil
		}
		if errors.Is(err, errHelp) {
			s.shortHelp(cmd)
			return usage(cmd, fmt.Errorf("%s: nothing to read: standard input is a terminal", nameOf(cmd)))
		}
		return fmt.Errorf("%s: %w", nameOf(cmd), err)
	}
	return s
}

// nameOf returns the name of a command below bloomery: check, config check.
func nameOf(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return cmd.Name()
	}
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// errHelp asks for the short help: nothing was given and nobody pipes.
var errHelp = errors.New("help")

// files returns what the arguments stand for, errHelp if that would be a wait
// for somebody to type.
func (s *shell) files(args []string) ([]string, error) {
	switch {
	case s.pipes.stdin && (len(args) == 0 || slices.Contains(args, "-")):
		return nil, hinted{errors.New("standard input is the filter already"), "give the values as arguments, or their file with -f"}
	case len(args) == 0 && s.terminal(s.in):
		return nil, errHelp
	}
	return args, nil
}

// shortHelp prints how the command is used.
func (s *shell) shortHelp(cmd *cobra.Command) {
	fmt.Fprintf(s.errOut, "%s\n\nusage: %s\n\n%s\n\n", cmd.Short, cmd.UseLine(), cmd.Example)
}

// usage adds where to read more to an error about how a command was called.
func usage(cmd *cobra.Command, err error) error {
	return hinted{err, "see " + cmd.CommandPath() + " --help"}
}

// between is a check of arguments: at least low, and at most high if that is
// not negative. what says what they are.
func between(low, high int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < low:
			return usage(cmd, fmt.Errorf("%s: give %s", nameOf(cmd), what))
		case high >= 0 && len(args) > high:
			return usage(cmd, fmt.Errorf("%s: give %s, and no more: what is %q?", nameOf(cmd), what, args[high]))
		}
		return nil
	}
}

// noArguments is the check of a command that has flags alone.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(cmd, fmt.Errorf("%s takes no arguments: what is %q?", nameOf(cmd), args[0]))
}

// requireOutput makes -o a flag that must be there.
func requireOutput(cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Lookup("output").Value.String() == "" {
			return hinted{fmt.Errorf("%s: give the file to write with -o", cmd.Name()), "-o - is standard output; see " + cmd.CommandPath() + " --help"}
		}
		return run(cmd, args)
	}
}

// say writes a line for people to standard error, unless they want quiet.
func (s *shell) say(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.errOut, format+"\n", visibleArgs(args)...)
	}
}

// warn is say with a word in front that stands out.
func (s *shell) warn(format string, args ...any) {
	s.say(s.paint(s.errOut, yellow, "warning:")+" "+format, args...)
}

// print writes one JSON object and a newline to standard output.
func (s *shell) print(v any) error { return s.printTo(s.out, v) }

// printTo writes one JSON object and a newline to a stream, or to the file of
// --summary.
func (s *shell) printTo(w io.Writer, v any) error {
	if s.summaryFile != "" {
		w = &s.collected
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// colour is a sequence that switches a colour on.
type colour string

const (
	red    colour = "\x1b[31m"
	green  colour = "\x1b[32m"
	yellow colour = "\x1b[33m"
	plain         = "\x1b[0m"
)

// paint colours a text for a stream, if it wants colours.
func (s *shell) paint(stream io.Writer, c colour, text string) string {
	if !s.coloured(stream) {
		return text
	}
	return string(c) + text + plain
}

// coloured decides as https://no-color.org asks.
func (s *shell) coloured(stream io.Writer) bool {
	if s.colour != "auto" {
		return s.colour == "always"
	}
	none, _ := s.lookup("NO_COLOR")
	term, _ := s.lookup("TERM")
	return none == "" && term != "dumb" && s.terminal(stream)
}

// grouped writes a number with commas.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// plural writes a number of things: 1 line, 2,000 lines.
func plural(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return grouped(n) + " " + thing + "s"
}

// bytesText writes a number of bytes for people, in units that flags for sizes
// take as well.
func bytesText(n uint64) string {
	units := [...]string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	x, i := float64(n), 0
	for ; x >= 1024 && i < len(units)-1; i++ {
		x /= 1024
	}
	return fmt.Sprintf("%.4g %s", x, units[i])
}

// rateText writes a false positive rate for people: as a percentage, and one in how
// many.
func rateText(p float64) string {
	if p <= 0 {
		return "0"
	}
	if p < leastPercent {
		return shareText(p)
	}
	if many := uint64(1/p + 0.5); many > 1 {
		return fmt.Sprintf("%s (1 in %s)", shareText(p), grouped(many))
	}
	return shareText(p)
}

// Rates below leastPercent are not written in percent, and those below
// leastShare have no digits of their own.
const (
	leastPercent = 1e-9
	leastShare   = 1e-18
)

// manyText writes a number above a billion with three digits at most.
func manyText(x float64) string {
	switch {
	case x < 1e12*0.9995:
		return fmt.Sprintf("%.3g billion", x/1e9)
	case x < 1e15*0.9995:
		return fmt.Sprintf("%.3g trillion", x/1e12)
	}
	return fmt.Sprintf("10^%.0f", math.Log10(x))
}

// shareText writes a rate with three digits and without an exponent: in percent,
// or, if that had many zeros, as 1 in so many.
func shareText(p float64) string {
	switch {
	case p < leastShare:
		return "less than 1 in 10^18"
	case p < leastPercent:
		return "1 in " + manyText(1/p)
	}
	percent := 100.0
	for digits := 3; percent >= 100 && digits <= 17; digits++ { // below 1 is not 100%
		percent, _ = strconv.ParseFloat(fmt.Sprintf("%.*g", digits, 100*p), 64) // it was written by Sprintf
		if p >= 1 {
			break
		}
	}
	return strconv.FormatFloat(percent, 'f', -1, 64) + "%"
}
