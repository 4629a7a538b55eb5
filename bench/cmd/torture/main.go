//go:build linux

// Command torture makes faults in a cluster under load, round after round, and checks
// that nothing that was acknowledged is lost, that nothing is done twice, that all
// nodes hold the same, and that clients get no answer that they must not get.
//
// Each node is a process in a network namespace of its own, whose packets to other
// nodes this program carries, with a file system of its own. That needs Linux and
// root; without, what cannot be had is left out, with a notice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	bin    string
	dir    string
	rounds int
	during time.Duration
	faults string
	seed   uint64
	nodes  int
	copies int
	keep   bool
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "", "the `program` bloomery, built with -tags torture")
	flag.StringVar(&o.dir, "dir", "", "a `folder` for data and logs that does not exist (default: a new one among temporary files)")
	flag.IntVar(&o.rounds, "rounds", 0, "how many rounds, 0 for all faults once")
	flag.DurationVar(&o.during, "for", 0, "begin rounds for so long, whatever -rounds says")
	flag.StringVar(&o.faults, "faults", "all", "faults by `name`, with commas; they are made in this order, again and again")
	flag.Uint64Var(&o.seed, "seed", 0, "of all random numbers, 0 for a random one")
	flag.IntVar(&o.nodes, "nodes", logNodes, "how many nodes, 3 of which keep the log")
	flag.IntVar(&o.copies, "copies", 0, "how many nodes hold the contents of each filter, 0 for all")
	flag.BoolVar(&o.keep, "keep", false, "keep data and logs if all is well, too")
	list := flag.Bool("list", false, "list the faults and exit")
	flag.Parse()
	if *list {
		for _, f := range faults {
			fmt.Printf("%-14s %s\n", f.name, f.about)
		}
		return
	}
	if code, ok := enter(); ok {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, &o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) {
	fmt.Printf("%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

var errInterrupted = errors.New("interrupted")

// run makes the cluster, and the rounds. It leaves nothing behind unless something was
// wrong.
func run(ctx context.Context, o *options) (err error) {
	if o.seed == 0 {
		o.seed = rand.Uint64N(1_000_000)
	}
	if o.bin == "" {
		return errors.New("-bin is missing")
	}
	if o.nodes < logNodes || o.nodes > 20 {
		return fmt.Errorf("-nodes %d: %d to 20", o.nodes, logNodes)
	}
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "torture-"); err != nil {
			return err
		}
	} else if err := os.Mkdir(o.dir, 0o700); err != nil {
		return err
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	say("seed %d, data and logs in %s", o.seed, o.dir)
	c, err := newCluster(o, inside(), say)
	if err != nil {
		return err
	}
	defer func() {
		ended := c.close()
		if (err == nil || errors.Is(err, errInterrupted)) && !o.keep {
			ended = errors.Join(ended, os.RemoveAll(o.dir))
		} else {
			say("data and logs are in %s", o.dir)
		}
		err = errors.Join(err, ended)
	}()
	chosen, skipped, err := choose(o.faults, c)
	if err != nil {
		return err
	}
	if len(skipped) > 0 {
		say("left out: %v", skipped)
	}
	if o.rounds == 0 {
		o.rounds = len(chosen)
	}
	began := time.Now()
	if err := c.start(ctx, c.members()...); err != nil {
		return err
	}
	say("all nodes serve after %s", seconds(time.Since(began)))
	if err := c.spread(ctx); err != nil {
		return err
	}
	s, err := newSession(ctx, c, o.seed)
	if err != nil {
		return err
	}
	defer func() { table(os.Stdout, s.kinds) }()
	return s.rounds(ctx, o, chosen)
}
