package main

import (
	"context"
	"fmt"

	"github.com/bloomery/bloomery/bench/internal/timing"
)

// figure is one number that was measured.
type figure struct {
	Who   string  `json:"who"`  // the library and how it was made
	What  string  `json:"what"` // what was measured, in which unit
	Value float64 `json:"value"`
}

// record is one line of the results file: an experiment.
type record struct {
	Name    string   `json:"name"`
	Commit  string   `json:"commit"`
	Date    string   `json:"date"`
	Go      string   `json:"go"`
	CPU     string   `json:"cpu"`
	Rounds  int      `json:"rounds"`
	Quick   bool     `json:"quick,omitempty"`
	Figures []figure `json:"figures"`
}

// find returns a figure, or 0 if there is none.
func (r record) find(who, what string) float64 {
	for _, f := range r.Figures {
		if f.Who == who && f.What == what {
			return f.Value
		}
	}
	return 0
}

// experiment is a number of measurements that are made together and may be
// compared.
type experiment struct {
	family string
	keys   int
	about  string // what the table in the document shows
	run    func(ctx context.Context, b *bench) error
}

func (e experiment) name() string { return fmt.Sprintf("%s/n=%d", e.family, e.keys) }

// named returns the experiment of that name.
func named(name string) experiment {
	for _, e := range experiments() {
		if e.name() == name {
			return e
		}
	}
	panic("no experiment is called " + name)
}

// measure runs the experiment in this process.
func (e experiment) measure(ctx context.Context, o options) ([]figure, error) {
	b := &bench{options: o, n: o.scale(e.keys)}
	err := e.run(ctx, b)
	return b.figures, err
}

// bench is one experiment while it runs.
type bench struct {
	options
	n       int // keys
	figures []figure
	waiting []figure
	loops   []timing.Loop
}

// note keeps a number that is not a time.
func (b *bench) note(who, what string, value float64) {
	b.figures = append(b.figures, figure{who, what, value})
}

// time puts a loop among those that the next call of turns runs.
func (b *bench) time(who, what string, l timing.Loop) {
	b.waiting = append(b.waiting, figure{Who: who, What: what})
	b.loops = append(b.loops, l)
}

// turns runs all waiting loops in turns and keeps their times, in nanoseconds
// per key.
func (b *bench) turns(rounds int) {
	for i, ns := range timing.Interleave(b.loops, rounds, false, timing.CPU) {
		b.note(b.waiting[i].Who, b.waiting[i].What, ns)
	}
	b.waiting, b.loops = nil, nil
}

// long returns the rounds for passes over all keys, which may take seconds.
func (b *bench) long() int {
	if b.n <= 1_000_000 {
		return b.rounds
	}
	return max(1, b.rounds/3)
}
