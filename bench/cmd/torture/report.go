//go:build linux

package main

// What the rounds were like.

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// tally is what was counted, of a round or of all rounds of a kind.
type tally struct {
	rounds                         int
	acknowledged, unknown, refused int
	reads, owned, failed           int
	lost, twice, wrong             int
	writeStop, readStop            time.Duration
}

func (t *tally) add(o tally) {
	t.rounds += o.rounds
	t.acknowledged += o.acknowledged
	t.unknown += o.unknown
	t.refused += o.refused
	t.reads += o.reads
	t.owned += o.owned
	t.failed += o.failed
	t.lost += o.lost
	t.twice += o.twice
	t.wrong += o.wrong
	t.writeStop = max(t.writeStop, o.writeStop)
	t.readStop = max(t.readStop, o.readStop)
}

func (t *tally) writes() int { return t.acknowledged + t.unknown + t.refused }

func (t *tally) bad() bool { return t.lost+t.twice+t.wrong > 0 }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// line describes a round.
func (t *tally) line() string {
	return fmt.Sprintf("%d writes: %d acknowledged, %d unknown, %d refused; %d lost, %d twice, %d wrong; longest pause of writes %s, of reads %s; %d reads, %d that see everything, %d failed",
		t.writes(), t.acknowledged, t.unknown, t.refused, t.lost, t.twice, t.wrong, seconds(t.writeStop), seconds(t.readStop), t.reads, t.owned, t.failed)
}

// table writes a line for each kind of fault, in the order of faults.
func table(w io.Writer, kinds map[string]*tally) {
	head := []string{"fault", "rounds", "writes", "acknowledged", "unknown", "refused", "lost", "twice", "wrong", "reads", "OWNER reads", "failed", "pause of writes", "pause of reads"}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	var sum tally
	row := func(name string, t *tally) {
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %s | %s |\n", name, t.rounds, t.writes(), t.acknowledged, t.unknown, t.refused,
			t.lost, t.twice, t.wrong, t.reads, t.owned, t.failed, seconds(t.writeStop), seconds(t.readStop))
	}
	for _, f := range faults {
		if t := kinds[f.name]; t != nil {
			row(f.name, t)
			sum.add(*t)
		}
	}
	row("**all**", &sum)
}
