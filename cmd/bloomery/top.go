// The command top: a live table of the filters of a server.

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/internal/resp"
)

// topOptions are the flags of top.
type topOptions struct {
	connectFlags
	interval time.Duration
	samples  int
	once     bool
	order    string
	match    string
	filters  int

	size func(stream any) (width, height int)
}

// The bounds of the flags of top: a server answers no faster, and lists no more.
const (
	leastInterval = 100 * time.Millisecond
	mostFilters   = 100_000
)

func newTop() *cobra.Command {
	o := &topOptions{size: terminalSize}
	cmd := &cobra.Command{
		Use:   "top [--addr HOST:PORT] [--interval TIME] [--once]",
		Short: "Show the filters of a server and their rates, live",
		Long: `top shows a table of the filters of a bloomery server: how full each is, the
false positive rate that was asked for and the one that it has, how often it is
used, and the verdict of the server. The table is made anew every --interval.

At a terminal these keys work: q ends it; r sorts by the rate over the one asked
for, f by fill, o by operations a second, b by bytes, n by name. A rate with ~
is predicted from the bits that are set, others are measured by probes. Of many
filters the server lists those first that need something; --filters and --match
choose which are looked at.

If standard output is not a terminal, and with --once, the table is printed
once, after one interval; with -n so many times.

Put the password in BLOOMERY_PASSWORD rather than after --password, where other
users of the machine see it.`,
		Example: `  bloomery top
  bloomery top --addr 127.0.0.1:6380 --interval 5s --sort ops
  bloomery top --once --match 'users:*'
  bloomery top --json -n 60 --interval 1m > filters.json`,
		Args: noArguments,
	}
	newShell(cmd, func(ctx context.Context, s *shell, _ []string) error { return o.run(ctx, s) })
	f := cmd.Flags()
	o.bind(f, "127.0.0.1:6379", "`ADDRESS` of the server: HOST:PORT, tls:HOST:PORT or unix:PATH")
	durationVar(f, &o.interval, "interval", time.Second, "`TIME` between two samples")
	intVar(f, &o.samples, "samples", "n", 0, "end after `N` samples; 0 for never")
	f.BoolVar(&o.once, "once", false, "print the table once and end")
	f.StringVar(&o.order, "sort", topOrders[0], "`ORDER` of the filters: "+strings.Join(topOrders, ", "))
	f.StringVar(&o.match, "match", "*", "`PATTERN` of the names to look at")
	intVar(f, &o.filters, "filters", "", 100, "most filters to look at")
	completeWords(cmd, "sort", topOrders...)
	return cmd
}

// check reports what is wrong with the flags.
func (o *topOptions) check() error {
	switch {
	case o.interval < leastInterval:
		return fmt.Errorf("--interval %v is not at least %v", o.interval, leastInterval)
	case o.filters < 1 || o.filters > mostFilters:
		return fmt.Errorf("--filters %d is not between 1 and %s", o.filters, grouped(mostFilters))
	case !slices.Contains(topOrders, o.order):
		return fmt.Errorf("--sort %q: want one of %s", o.order, strings.Join(topOrders, ", "))
	}
	return nil
}

func (o *topOptions) run(ctx context.Context, s *shell) error {
	if err := o.check(); err != nil {
		return err
	}
	nc, err := o.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	c := &topClient{nc: nc, r: bufio.NewReaderSize(nc, replyBuffer), match: o.match, most: o.filters}
	if auth := o.auth(s.lookup); auth != nil {
		if err := c.exchange([]*resp.Reply{new(resp.Reply)}, auth); err != nil {
			return o.explain(err)
		}
	}
	if !o.once && !s.asJSON && s.terminal(s.in) && s.terminal(s.out) {
		return o.live(ctx, s, c)
	}
	if o.once || o.samples == 0 {
		o.samples = 1
	}
	return o.explain(o.watch(ctx, c, func(v *topView) error {
		v.sort(o.order)
		width, _ := o.size(s.out)
		if !s.terminal(s.out) {
			width = unbounded
		}
		return v.print(s, width)
	}))
}

// unbounded is the width of a file.
const unbounded = 1 << 20

// explain adds what to do to an error of the server.
func (o *topOptions) explain(err error) error {
	var refused refusedError
	switch {
	case errors.As(err, &refused) && strings.Contains(string(refused), "unknown command"):
		return hinted{err, "top needs a server of bloomery"}
	case errors.Is(err, errServer):
		return about(o.addr, err)
	}
	return err
}

// watch shows a view every interval, as many as are wanted. The first is shown when
// there are two samples: rates need them.
func (o *topOptions) watch(ctx context.Context, c *topClient, show func(*topView) error) error {
	before, err := c.sample(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(o.interval)
	defer tick.Stop()
	for n := 0; o.samples == 0 || n < o.samples; n++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		now, err := c.sample(ctx)
		if err != nil {
			return err
		}
		if err := show(newTopView(o.addr, before, now)); err != nil {
			return err
		}
		before = now
	}
	return nil
}

// What a terminal obeys: another screen, without a cursor, and back; the beginning
// of the screen; erasing the rest of the line, and of the screen.
const (
	otherScreen = "\x1b[?1049h\x1b[?25l"
	firstScreen = "\x1b[?25h\x1b[?1049l"
	homeScreen  = "\x1b[H"
	eraseRight  = "\x1b[K"
	eraseBelow  = "\x1b[J"
)

// live shows the table on a screen of its own, until q is pressed.
func (o *topOptions) live(ctx context.Context, s *shell, c *topClient) error {
	restore, err := rawTerminal(s.in)
	if err != nil {
		return err
	}
	defer restore()
	if _, err := io.WriteString(s.out, otherScreen); err != nil {
		return err
	}
	defer func() { _, _ = io.WriteString(s.out, firstScreen) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	views, ended := make(chan *topView), make(chan error, 1)
	go func() {
		ended <- o.watch(ctx, c, func(v *topView) error {
			select {
			case views <- v:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
	}()
	resized, forget := resizes()
	defer forget()
	keys := pressed(ctx, s.in)
	var view *topView
	for {
		if err := o.draw(s, view); err != nil {
			return err
		}
		select {
		case view = <-views:
		case <-resized:
		case key, more := <-keys:
			if !more || o.press(key) {
				return nil
			}
		case err := <-ended:
			if errors.Is(err, context.Canceled) { // by a signal: a way to end it, too
				return nil
			}
			return o.explain(err)
		}
	}
}

// pressed passes on what is typed. The channel is closed at the end of the input.
func pressed(ctx context.Context, in io.Reader) <-chan byte {
	keys := make(chan byte)
	go func() {
		defer close(keys)
		var b [1]byte
		for {
			if _, err := io.ReadFull(in, b[:]); err != nil {
				return
			}
			select {
			case keys <- b[0]:
			case <-ctx.Done():
				return
			}
		}
	}()
	return keys
}

// press does what a key means and reports whether that is the end.
func (o *topOptions) press(key byte) (end bool) {
	const ctrlC, ctrlD = 3, 4
	switch key {
	case 'q', 'Q', ctrlC, ctrlD:
		return true
	}
	for _, order := range topOrders {
		if order[0] == key {
			o.order = order
		}
	}
	return false
}

// draw fills the screen with a view, nil if there is none yet.
func (o *topOptions) draw(s *shell, v *topView) error {
	width, height := o.size(s.out)
	lines := []string{cut("asking "+o.addr+" ...", width)}
	if v != nil {
		v.sort(o.order)
		lines = v.lines(s, width, height-1)
		lines = append(lines, cut("sorted by "+o.order+"; keys: q quit, r rate, f fill, o ops, b bytes, n name", width))
	}
	if len(lines) > height {
		lines = lines[:max(height, 0)]
	}
	_, err := io.WriteString(s.out, homeScreen+strings.Join(lines, eraseRight+"\r\n")+eraseRight+eraseBelow)
	return err
}
