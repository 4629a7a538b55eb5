package admin

import (
	"fmt"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
)

const latencyFlags = traits.Admin | traits.NoScript | traits.Loading | traits.Stale

var latencyCategories = []string{"admin", "slow", "dangerous"}

// histogramBytes is what the times of a command count for.
const histogramBytes = 16 << 10

// latency is LATENCY, with its subcommands.
var latency = engine.Command{
	Name: "latency", Arity: -2, Group: traits.GroupServer, Since: "2.8.13", Syntax: "subcommand", Summary: "Reports how long commands took.",
	Categories: []string{"slow"},
	Subcommands: []engine.Command{
		{
			Name: "doctor", Arity: 2, Flags: latencyFlags, Categories: latencyCategories,
			Complexity: "O(1)", Summary: "Describes what took long, for people.",
			Run: func(x *engine.Context, c *engine.Call) {
				c.Answer(answer.Reply{Kind: answer.Verbatim, Text: latencyReport(&x.Server().Notes().Late)})
			},
		},
		{
			Name: "histogram", Arity: -2, Flags: latencyFlags, Categories: latencyCategories, Since: "7.0.0",
			Syntax: "[command [command ...]]", Complexity: "O(n), n being the number of commands",
			Summary: "Returns how many calls of commands took up to 1 µs, 2 µs, 4 µs and so on until they were answered, in the buckets of Redis; in a cluster also without waits for other nodes.",
			Cost:    func(x *engine.Costs, c *engine.Call) { x.Bytes(4<<20 + len(c.Args)*histogramBytes) },
			Run:     runLatencyHistogram,
		},
		{
			Name: "history", Arity: 3, Flags: latencyFlags, Categories: latencyCategories,
			Syntax: "event", Complexity: "O(1)", Summary: "Returns the samples of an event.",
			Run: func(x *engine.Context, c *engine.Call) {
				elems := []answer.Reply{}
				for _, e := range x.Server().Notes().Late.Events() {
					for _, s := range e.Samples {
						if e.Name == string(c.Args[2]) {
							elems = append(elems, answer.List(answer.Integer(s.Second), answer.Integer(s.Millis)))
						}
					}
				}
				c.Answer(answer.List(elems...))
			},
		},
		{
			Name: "latest", Arity: 2, Flags: latencyFlags, Categories: latencyCategories,
			Complexity: "O(1)", Summary: "Returns the latest sample of every event.",
			Run: func(x *engine.Context, c *engine.Call) {
				elems := []answer.Reply{}
				for _, e := range x.Server().Notes().Late.Events() {
					last := e.Samples[len(e.Samples)-1]
					elems = append(elems, answer.List(answer.Text(e.Name), answer.Integer(last.Second), answer.Integer(last.Millis), answer.Integer(e.Most)))
				}
				c.Answer(answer.List(elems...))
			},
		},
		{
			Name: "reset", Arity: -2, Flags: latencyFlags, Categories: latencyCategories,
			Syntax: "[event [event ...]]", Complexity: "O(1)", Summary: "Forgets events, and returns how many.",
			Run: func(x *engine.Context, c *engine.Call) {
				var names []string
				for _, a := range c.Args[2:] {
					names = append(names, string(a))
				}
				c.Answer(answer.Integer(int64(x.Server().Notes().Late.Reset(names...))))
			},
		},
	},
}

// latencyReport is what LATENCY DOCTOR answers.
func latencyReport(l *session.Latency) string {
	if l.Threshold() == 0 {
		return "Slow events are not recorded. Set a threshold in milliseconds: CONFIG SET latency-monitor-threshold 100\n"
	}
	events := l.Events()
	if len(events) == 0 {
		return fmt.Sprintf("Nothing took %d ms or more.\n", l.Threshold())
	}
	var b strings.Builder
	for _, e := range events {
		sum := int64(0)
		for _, s := range e.Samples {
			sum += s.Millis
		}
		fmt.Fprintf(&b, "%s: %d samples, %d ms on average, %d ms at most.\n", e.Name, len(e.Samples), sum/int64(len(e.Samples)), e.Most)
	}
	b.WriteString("SLOWLOG GET shows which commands took long, LATENCY HISTOGRAM how long all of them take. " +
		"Long values and many items make commands slow; so does a machine whose processors are busy with something else.\n")
	return b.String()
}

func runLatencyHistogram(x *engine.Context, c *engine.Call) {
	elems := []answer.Reply{}
	add := func(cmd *engine.Command) {
		if u := x.Server().Usage(cmd); u.Calls > 0 {
			elems = append(elems, answer.Text(cmd.FullName()), histogram(&u))
		}
	}
	if len(c.Args) == 2 {
		x.Table().Walk(add)
	}
	for _, name := range c.Args[2:] {
		cmd := x.Table().Find(name)
		if cmd == nil {
			continue // as Redis does
		}
		add(cmd)
		for i := range cmd.Subcommands {
			add(&cmd.Subcommands[i])
		}
	}
	c.Answer(answer.Pairs(elems...))
}

// histogram answers the calls of a command by the time they took, each bucket
// with those before it. Redis keeps two digits of a time, and names a bucket by the
// last that it does not distinguish from its end: 16 µs, 33 µs, 66 µs.
func histogram(u *session.Usage) answer.Reply {
	all := []answer.Reply{answer.Text("calls"), answer.Integer(u.Calls), answer.Text("histogram_usec"), buckets(&u.Times)}
	if u.Waited {
		all = append(all, answer.Text("histogram_usec_in_node"), buckets(&u.Here))
	}
	return answer.Pairs(all...)
}

func buckets(t *session.Times) answer.Reply {
	buckets := []answer.Reply{}
	sum := int64(0)
	for i, n := range t.Took {
		if n > 0 {
			sum += n
			end := session.BucketEnd(i).Nanoseconds()
			buckets = append(buckets, answer.Integer((end+end>>7-1)/1000), answer.Integer(sum))
		}
	}
	return answer.Pairs(buckets...)
}
