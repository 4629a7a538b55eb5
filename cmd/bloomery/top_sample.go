// What top asks a server for.

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
)

// topFilter is what top knows of a filter at one moment.
type topFilter struct {
	name, kind, verdict    string
	items, capacity, bytes uint64
	asked                  float64
	rate                   float64 // measured by probes, or else predicted
	measured               bool
	calls                  uint64 // since the server measures it
}

// excess returns the false positive rate as a multiple of the rate asked for, 0 if
// none was asked for.
func (f *topFilter) excess() float64 {
	if f.asked <= 0 {
		return 0
	}
	return f.rate / f.asked
}

// fill returns the share of the capacity that is taken, 0 if there is none.
func (f *topFilter) fill() float64 {
	if f.capacity == 0 {
		return 0
	}
	return float64(f.items) / float64(f.capacity)
}

// topSample is the state of a server at one moment.
type topSample struct {
	at      time.Time
	info    map[string]string
	filters []topFilter
}

// number returns a figure of INFO, 0 if it is not there.
func (s *topSample) number(name string) float64 {
	x, _ := strconv.ParseFloat(s.info[name], 64)
	return x
}

// topClient asks a server for samples.
type topClient struct {
	nc    net.Conn
	r     *bufio.Reader
	match string // pattern of the names
	most  int    // filters in a sample
}

// sample asks for everything that top shows: INFO, the list of filters, and then
// all filters of it at once.
func (c *topClient) sample(ctx context.Context) (*topSample, error) {
	// A read that waits ends when its connection does.
	stop := context.AfterFunc(ctx, func() { _ = c.nc.Close() })
	defer stop()
	s, err := c.ask()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s, err
}

func (c *topClient) ask() (*topSample, error) {
	var info, list resp.Reply
	err := c.exchange([]*resp.Reply{&info, &list}, []string{"INFO"}, []string{"FILTER.HEALTH", "MATCH", c.match, "COUNT", strconv.Itoa(c.most)})
	if err != nil {
		return nil, err
	}
	s := &topSample{at: time.Now(), info: parseInfo(string(info.Text))}
	var names []string
	for i := range list.Array {
		names = append(names, fieldsOf(&list.Array[i])["key"])
	}
	for some := range slices.Chunk(names, askedAtOnce) {
		if err := c.describe(s, some); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// askedAtOnce is how many filters are asked for before answers are read: so few that
// the questions never fill the buffers of a connection.
const askedAtOnce = 64

// describe adds filters to a sample, those that are still there.
func (c *topClient) describe(s *topSample, names []string) error {
	commands := make([][]string, len(names))
	for i, name := range names {
		commands[i] = []string{"FILTER.INFO", name}
	}
	if err := c.send(commands...); err != nil {
		return err
	}
	var reply resp.Reply
	for _, name := range names {
		if err := reply.Read(c.r); err != nil {
			return serverError(err)
		}
		if reply.Type == '*' { // else an error: it was deleted meanwhile
			s.filters = append(s.filters, newTopFilter(name, fieldsOf(&reply)))
		}
	}
	return nil
}

// exchange sends commands and reads their replies, none of which may be an error.
func (c *topClient) exchange(replies []*resp.Reply, commands ...[]string) error {
	if err := c.send(commands...); err != nil {
		return err
	}
	for i, reply := range replies {
		if err := reply.Read(c.r); err != nil {
			return serverError(err)
		}
		if reply.Type == '-' {
			return refusedError(fmt.Sprintf("%s: the server replied: %s", commands[i][0], reply.Text))
		}
	}
	return nil
}

func (c *topClient) send(commands ...[]string) error {
	var b []byte
	for _, command := range commands {
		b = resp.AppendCommand(b, command...)
	}
	if _, err := c.nc.Write(b); err != nil {
		return serverError(err)
	}
	return nil
}

// parseInfo reads the lines of INFO.
func parseInfo(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// fieldsOf reads a map: in RESP2 an array of names and values.
func fieldsOf(r *resp.Reply) map[string]string {
	fields := map[string]string{}
	for i := 0; i+1 < len(r.Array); i += 2 {
		value := string(r.Array[i+1].Text)
		if r.Array[i+1].Type == ':' {
			value = strconv.FormatInt(r.Array[i+1].Int, 10)
		}
		fields[string(r.Array[i].Text)] = value
	}
	return fields
}

func newTopFilter(name string, fields map[string]string) topFilter {
	whole := func(field string) uint64 {
		n, _ := strconv.ParseUint(fields[field], 10, 64)
		return n
	}
	rate := func(field string) float64 {
		x, _ := strconv.ParseFloat(fields[field], 64)
		return x
	}
	f := topFilter{
		name: name, kind: fields["kind"], verdict: fields["verdict"],
		items: whole("items"), capacity: whole("capacity"), bytes: whole("bytes"), calls: whole("calls"),
		asked: rate("asked"), rate: rate("predicted"),
	}
	if fields["probed_state"] == "measured" {
		f.rate, f.measured = rate("probed"), true
	}
	return f
}
