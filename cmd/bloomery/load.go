// The command load: lines added to a filter of a server.

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/internal/resp"
)

// shownErrors is how many refusals are printed, each of one line or of several that
// follow each other.
const shownErrors = 10

// loadOptions are the flags of load.
type loadOptions struct {
	inputFlags
	connectFlags
	reserve string
	batch   int
}

func newLoad() *cobra.Command {
	o := &loadOptions{}
	cmd := &cobra.Command{
		Use:   "load [--addr HOST:PORT] [--reserve N,P] KEY [FILE...]",
		Short: "Add the lines of files or standard input to a server's filter",
		Long: `load adds all lines to the filter KEY of a server that speaks RESP: bloomery
serve, or Redis with RedisBloom. Many lines travel in one command, BF.MADD or,
for a filter of FILTER.CREATE, FILTER.ADD, and many commands are on their way at
once. A filter that does not exist is made by the server as a Bloom filter with
its defaults, or with --reserve for N different lines at the false positive rate
P.

Lines that the server refuses are listed with file and number, and the exit code
is 3 if the filter is full, else 2. Run an interrupted load again: adding a line
twice changes nothing, except that kinds that count or delete hold it twice.

Put the password in BLOOMERY_PASSWORD rather than after --password, where other
users of the machine see it.`,
		Example: `  bloomery load --addr 127.0.0.1:6379 users users.txt
  bloomery load --addr db.example.com:6379 --tls --cacert ca.crt users users.txt
  bloomery load --addr unix:/run/bloomery.sock users users.txt
  zcat urls.gz | bloomery load --reserve 10M,0.1% urls`,
		Args: between(1, -1, "the key of the filter"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0], args[1:]) }).bindSummary(cmd)
	f := cmd.Flags()
	o.connectFlags.bind(f, "127.0.0.1:6379", "`ADDRESS` of the server: HOST:PORT, tls:HOST:PORT or unix:PATH")
	f.StringVar(&o.reserve, "reserve", "", "make the filter first, for `N,P`: 1e6,0.1%")
	intVar(f, &o.batch, "batch", "", 1000, "most lines in a command")
	o.inputFlags.bind(f)
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 { // the key
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cmd
}

func (o *loadOptions) run(ctx context.Context, s *shell, key string, args []string) error {
	if o.batch < 1 {
		return fmt.Errorf("--batch %d is not at least 1", o.batch)
	}
	greeting, err := o.greeting(s, key)
	if err != nil {
		return err
	}
	files, err := s.files(args)
	if err != nil {
		return err
	}
	in, err := o.input(s, files)
	if err != nil {
		return err
	}
	nc, err := o.dial(ctx)
	if err != nil {
		return err
	}
	l := newLoader(s, nc, key, o.batch)
	l.columns = o.compared
	stop := s.progress("load", in, false)
	defer stop()
	l.say = func(format string, args ...any) { stop(); s.say(format, args...) }
	err = l.load(ctx, in, greeting)
	stop()
	if err != nil {
		return o.brokenOff(err, l.answered)
	}
	o.warnUnseparated(s, l.sent, l.separated)
	return l.report(s)
}

// greeting is what goes before the lines: commands that must be answered with
// OK.
func (o *loadOptions) greeting(s *shell, key string) ([][]string, error) {
	var commands [][]string
	if auth := o.auth(s.lookup); auth != nil {
		commands = append(commands, auth)
	}
	if o.reserve == "" {
		return commands, nil
	}
	n, p, ok := strings.Cut(o.reserve, ",")
	if !ok {
		return nil, fmt.Errorf("--reserve %q: want keys and rate, as in 1e6,0.1%%", o.reserve)
	}
	keys, err := atLeastOne(figures.Count)(n)
	if err != nil {
		return nil, fmt.Errorf("--reserve: %w", err)
	}
	share, err := figures.Rate(p)
	if err != nil {
		return nil, fmt.Errorf("--reserve: %w", err)
	}
	return append(commands, []string{
		"BF.RESERVE", key, strconv.FormatFloat(share, 'g', -1, 64), strconv.FormatUint(keys, 10),
	}), nil
}

// brokenOff returns the error of a load that did not come to its end, with how far
// it came.
func (o *loadOptions) brokenOff(err error, answered uint64) error {
	var refused refusedError
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, &refused):
		return err
	case errors.Is(err, errServer):
		return hinted{
			fmt.Errorf("%s: %w, after %s answered", o.addr, networkCause(err), linesWere(answered)),
			"what was added stays; adding it again is harmless",
		}
	}
	return err
}

// linesWere begins a sentence about lines.
func linesWere(n uint64) string {
	if n == 1 {
		return "1 line was"
	}
	return grouped(n) + " lines were"
}

// load sends all lines and waits for all answers.
func (l *loader) load(ctx context.Context, in *lines.Input, greeting [][]string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A read or write that waits ends when its connection does.
	defer context.AfterFunc(ctx, func() { _ = l.nc.Close() })()
	defer l.nc.Close() //nolint:errcheck // all answers are there, or an error
	if err := l.greet(greeting); err != nil {
		return first(ctx, err)
	}
	if err := l.choose(); err != nil {
		return first(ctx, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := l.receive(); err != nil {
			cancel(err)
		}
	}()
	err := lines.Process(ctx, in, runtime.GOMAXPROCS(0), l.encode, func(b *lines.Batch, e *encoded) error { return l.send(ctx, b, e) })
	close(l.pending)
	if err != nil {
		cancel(err)
	}
	<-done
	if err = first(ctx, err); err == nil {
		l.ill = l.judge()
	}
	return err
}

// judge asks whether the filter is over its rate now, and returns what the server says of it. Bloom filters of RedisBloom
// grow, or refuse lines.
func (l *loader) judge() string {
	var reply resp.Reply
	if l.command != addToFilter || ask(l.nc, l.r, &reply, "FILTER.INFO", l.key) != nil {
		return ""
	}
	if f := fieldsOf(&reply); f["verdict"] == "Rebuild" {
		return f["reason"]
	}
	return ""
}

// first returns why a context ended, or else err: what fails later fails
// because of that.
func first(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// refusedError is the answer to a command that must be answered with OK.
type refusedError string

// Error implements error.
func (e refusedError) Error() string { return string(e) }

// greet sends the first commands, one after the other.
func (l *loader) greet(commands [][]string) error {
	var reply resp.Reply
	for _, c := range commands {
		if err := ask(l.nc, l.r, &reply, c...); err != nil {
			return serverError(err)
		}
		if reply.Type == '-' {
			err := error(refusedError(fmt.Sprintf("%s: the server replied: %s", c[0], reply.Text)))
			if c[0] == "BF.RESERVE" {
				err = hinted{err, "without --reserve, lines are added to a filter that is there"}
			}
			return err
		}
	}
	return nil
}

// Commands that add items, and the types that TYPE returns for their filters.
const (
	addToBloom  = "BF.MADD"
	addToFilter = "FILTER.ADD"
	typeBloom   = "MBbloom--"
	typeFilter  = "bloomery-"
	typeCuckoo  = "MBbloomCF"
	typeNone    = "none"
)

// choose asks what kind of filter the key holds, and so by which command lines are
// added. A server that does not answer that gets BF.MADD.
func (l *loader) choose() error {
	l.command = addToBloom
	var reply resp.Reply
	if err := ask(l.nc, l.r, &reply, "TYPE", l.key); err != nil {
		return serverError(err)
	}
	if reply.Type == '-' {
		return nil
	}
	switch held := string(reply.Text); held {
	case typeBloom, typeNone:
	case typeFilter:
		l.command = addToFilter
	case typeCuckoo:
		return hinted{
			refusedError(l.key + " is a cuckoo filter of CF.RESERVE"),
			"load adds to filters of BF.RESERVE and FILTER.CREATE; FILTER.CREATE NAME cuckoo makes one that deletes, too",
		}
	default:
		return hinted{refusedError(fmt.Sprintf("%s holds %q, not a filter", l.key, held)), "choose another key"}
	}
	return nil
}
