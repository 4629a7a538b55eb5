// Command recommend never shows a user the same item twice: a small filter for each user on a
// server, which one command asks and fills.
//
//	go run ./examples/recommend
//	go run ./examples/recommend -addr 127.0.0.1:6379   # at a server that runs
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/examples/internal/served"
)

func main() { demo.MainServer(run) }

const (
	rate     = 0.01
	visits   = 3
	offered  = 20                         // items in a visit, the first half of which the user has seen
	items    = offered * (visits + 1) / 2 // that a user sees in all
	capacity = items * 5 / 4              // of a filter, with some headroom
	pipeline = 500                        // users whose commands are sent together
)

// figures is what users saw.
type figures struct {
	users, offers int
	shown         int
	repeated      int // items shown a second time: none
	wrong         int // new items that were hidden
	trips         int // round trips to the server
	bytes         int // of all filters, with their names
	large, sets   int // bytes of one filter of all pairs, and of sets in Go
}

func run(ctx context.Context, o demo.Options) (f figures, err error) {
	f.users = demo.Pick(o, 2_000, 1_000_000)
	all, err := bloom.Config{Capacity: f.users * items, ErrorRate: rate}.New()
	if err != nil {
		return f, err
	}
	f.large = int(all.Stats().Bytes)
	const few = 1_000
	f.sets = f.users / few * demo.Heap(func() any {
		seen := map[string]map[string]struct{}{}
		for user := range few {
			own := map[string]struct{}{}
			for i := range items {
				own[item(user, i)] = struct{}{}
			}
			seen[name(user)] = own
		}
		return seen
	})
	c, err := served.Connect(ctx, o.Addr, nil)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	err = f.serve(ctx, c)
	return f, err
}

// serve makes the filters, has all users come for their visits, and deletes the filters.
func (f *figures) serve(ctx context.Context, c *served.Client) error {
	before, err := dataset(c)
	if err != nil {
		return err
	}
	create := func(user int) []string {
		return []string{"BF.RESERVE", name(user), strconv.FormatFloat(rate, 'f', -1, 64), strconv.Itoa(capacity), "NONSCALING"}
	}
	if err := f.each(ctx, c, create, nil); err != nil {
		return err
	}
	defer func() {
		_ = f.each(context.WithoutCancel(ctx), c, func(user int) []string { return []string{"DEL", name(user)} }, nil)
	}()
	trips := c.Trips()
	for visit := range visits {
		first := visit * offered / 2
		offer := func(user int) []string {
			command := []string{"BF.MADD", name(user)}
			for i := range offered {
				command = append(command, item(user, first+i))
			}
			return command
		}
		if err := f.each(ctx, c, offer, func(r served.Reply) { f.count(r, visit) }); err != nil {
			return err
		}
	}
	f.trips = c.Trips() - trips
	after, err := dataset(c)
	f.bytes = after - before
	return err
}

// count notes a visit: BF.MADD answers 1 for an item that was not there, which is shown.
func (f *figures) count(r served.Reply, visit int) {
	for i, added := range r.Array {
		f.offers++
		seen := visit > 0 && i < offered/2
		switch {
		case added.Int == 1:
			f.shown++
			if seen {
				f.repeated++
			}
		case !seen:
			f.wrong++
		}
	}
}

// each sends a command for every user, in pipelines.
func (f *figures) each(ctx context.Context, c *served.Client, command func(user int) []string, take func(served.Reply)) error {
	for from := 0; from < f.users; from += pipeline {
		if err := ctx.Err(); err != nil {
			return err
		}
		var commands [][]string
		for user := from; user < min(from+pipeline, f.users); user++ {
			commands = append(commands, command(user))
		}
		replies, err := c.Pipe(commands...)
		if err != nil {
			return err
		}
		if take != nil {
			for _, r := range replies {
				take(r)
			}
		}
	}
	return nil
}

func name(user int) string { return "seen:" + strconv.Itoa(user) }

// item is the i-th of those that are chosen for a user.
func item(user, i int) string {
	return strconv.FormatUint((uint64(user)*7919+uint64(i)*104729)%10_000_019, 10)
}

// dataset returns the memory of all filters and names of a server.
func dataset(c *served.Client) (int, error) {
	r, err := c.Do("INFO", "memory")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(r.Text), "used_memory_dataset:")
	number, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0, fmt.Errorf("INFO memory: %w", err)
	}
	return n, nil
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("users", f.users)
	t.Count("items offered", f.offers)
	t.Count("shown", f.shown)
	t.Count("shown twice", f.repeated)
	t.Count("new and not shown", f.wrong)
	t.Percent("false positive rate asked, of a full filter", rate)
	t.Percent("measured", float64(f.wrong)/float64(f.users*items))
	t.Count("round trips", f.trips)
	t.Varying("bytes per user", demo.Count(f.bytes/f.users)) // less where pointers are short
	t.Count("in one filter of all pairs", f.large/f.users)
	t.Varying("in sets of a Go program", demo.Count(f.sets/f.users))
	return t
}
