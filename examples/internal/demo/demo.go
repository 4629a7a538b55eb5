// Package demo is what the examples share: their flags, the table that each prints, and the
// data: samples, and real data that is fetched by the name of its package. See package served for servers.
//
// An example is a function that takes Options and returns its figures, so that its test can
// run it as its user does:
//
//	func main() { demo.Main(run) }
package demo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
)

// Options is what the flags of an example say.
type Options struct {
	// Full asks for real data, or for the size of a real case; else the sample is used, which
	// is a part of the program and takes about a second.
	Full bool
	// Addr is that of a server that is running; "" stands for one inside the program.
	Addr string
}

// Pick returns the size of the sample, or that of a real case if the options ask for it.
func Pick[T any](o Options, sample, full T) T {
	if o.Full {
		return full
	}
	return sample
}

// Figures is what a run of an example has found.
type Figures interface {
	Table() Table
}

// Main runs an example with the flag -data, prints its table, and ends the process with code
// 1 if that fails. Ctrl-C ends the context.
func Main[F Figures](run func(context.Context, Options) (F, error)) {
	os.Exit(execute(run, false, os.Args, os.Stdout, os.Stderr))
}

// MainServer is Main for an example that uses a server: it has the flag -addr, too.
func MainServer[F Figures](run func(context.Context, Options) (F, error)) {
	os.Exit(execute(run, true, os.Args, os.Stdout, os.Stderr))
}

// execute is Main without the process around it. It returns the exit code.
func execute[F Figures](run func(context.Context, Options) (F, error), server bool, args []string, stdout, stderr io.Writer) int {
	name := filepath.Base(args[0])
	o, err := parse(name, args[1:], server, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2 // the flags have printed why
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	figures, err := run(ctx, o)
	if err == nil {
		_, err = io.WriteString(stdout, figures.Table().String())
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

// parse reads the flags of an example. It prints what is wrong with them to w.
func parse(name string, args []string, server bool, w io.Writer) (Options, error) {
	var o Options
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(w)
	flags.Func("data", "`sample`, which is built in, or full: real data, fetched if needed, or the size of a real case (default sample)", func(s string) error {
		if s != "sample" && s != "full" {
			return errors.New("want sample or full")
		}
		o.Full = s == "full"
		return nil
	})
	if server {
		flags.StringVar(&o.Addr, "addr", "", "`HOST:PORT` of a server that is running (default: one inside this program)")
	}
	if err := flags.Parse(args); err != nil {
		return Options{}, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("unexpected argument %q", flags.Arg(0))
		fmt.Fprintln(w, err)
		return Options{}, err
	}
	return o, nil
}

// Exact returns the exact set of a list, by which an example counts what its filters do.
func Exact[T comparable](list []T) map[T]bool {
	set := make(map[T]bool, len(list))
	for _, x := range list {
		set[x] = true
	}
	return set
}

// Heap returns how many bytes of memory build has taken for what it returns: that of an exact
// set, for comparison. It differs a little from run to run.
func Heap(build func() any) int {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	made := build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(made)
	runtime.KeepAlive(build) // and what it was made from
	return int(after.HeapAlloc) - int(before.HeapAlloc)
}

// Set is Heap for an exact set of keys. Strings are counted with their text.
func Set[T comparable](keys []T) int {
	return Heap(func() any {
		set := map[T]struct{}{}
		for _, key := range keys {
			if text, ok := any(key).(string); ok {
				key = any(strings.Clone(text)).(T)
			}
			set[key] = struct{}{}
		}
		return set
	})
}
