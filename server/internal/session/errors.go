package session

// Counters of errors, by their kind and the command.

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// mostErrors is how many pairs of a kind of errors and a command are counted separately for the clients of a slot.
// Further ones count as otherKind.
const (
	mostErrors = 1024
	otherKind  = "OTHER"
)

// NoCommand stands for a command that does not exist.
const NoCommand = -1

// errorTable is how many errors there were. Errors are rare beside what a lock costs.
type errorTable struct {
	// mu guards counts.
	mu     sync.Mutex
	counts map[errorOf]int64
}

type errorOf struct {
	kind    string
	command int
}

// ErrorCount is how often a command was answered with errors of a kind.
type ErrorCount struct {
	Kind    string
	Command int // NoCommand if there is no such command
	Count   int64
}

// KindOf returns the kind of an error: its first word, if that is one of capital letters as ERR and WRONGTYPE are.
func KindOf(text string) string {
	word, _, _ := strings.Cut(text, " ")
	for i := range len(word) {
		if c := word[i]; (c < 'A' || c > 'Z') && c != '_' {
			return "ERR"
		}
	}
	if len(word) < 2 || len(word) > 32 {
		return "ERR"
	}
	return word
}

// Failed counts error replies of a kind to a client.
func (c *Counters) Failed(by *Client, command int, kind string, n int) {
	t := &c.slots[by.Slot].errors
	t.mu.Lock()
	defer t.mu.Unlock()
	key := errorOf{kind, command}
	if _, ok := t.counts[key]; !ok {
		if t.counts == nil {
			t.counts = map[errorOf]int64{}
		}
		if key.kind = strings.Clone(kind); len(t.counts) >= mostErrors { // the text that it is a part of may be long
			key = errorOf{otherKind, NoCommand}
		}
	}
	t.counts[key] += int64(n)
}

// Errors returns all errors by kind and command, in the order of their kinds, those with the most first.
func (c *Counters) Errors() []ErrorCount {
	sum := map[errorOf]int64{}
	for i := range c.slots {
		t := &c.slots[i].errors
		t.mu.Lock()
		for key, n := range t.counts {
			sum[key] += n
		}
		t.mu.Unlock()
	}
	list := make([]ErrorCount, 0, len(sum))
	for key, n := range sum {
		list = append(list, ErrorCount{key.kind, key.command, n})
	}
	slices.SortFunc(list, func(a, b ErrorCount) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Command, b.Command))
	})
	return list
}

func (t *errorTable) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.counts)
}
