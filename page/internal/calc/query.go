// Package calc is the calculator behind the page: the five figures of a Bloom
// filter of which any may be given, curves, the memory of all kinds beside exact
// sets, advice, and commands to copy. It computes nothing itself; package sizing
// does. Everything is a pure function of the query and takes some milliseconds.
package calc

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/internal/question"
	"github.com/bloomery/bloomery/sizing"
)

// QueryError is what is wrong with a query, by the field that is wrong.
type QueryError map[string]string

// Error returns the faults in the order of their fields.
func (f QueryError) Error() string {
	var lines []string
	for _, field := range slices.Sorted(maps.Keys(f)) {
		lines = append(lines, field+": "+f[field])
	}
	return strings.Join(lines, "; ")
}

// What is taken where nothing is given, and the limits of what is.
const (
	assumedRate = 0.01
	maxKeyBytes = 1 << 20
	maxText     = 64
)

// query is a query that has been read.
type query struct {
	question.Figures
	given   map[string]bool
	assumed []string
	needs   sizing.Needs
	kind    string
}

// fields are the parameters of a query besides the figures, and how they are read.
var fields = map[string]func(q *query, text string) error{
	"needs":     readNeeds,
	"key_bytes": readKeyBytes,
	"cost":      readCost,
	"absent":    readAbsent,
	"memory":    readMemory,
	"kind":      readKind,
}

func readNeeds(q *query, s string) error {
	for word := range strings.SplitSeq(s, ",") {
		if !question.Need(&q.needs, strings.TrimSpace(word)) {
			return fmt.Errorf("%q is not one of %s", word, strings.Join(question.Needs(), ", "))
		}
	}
	return nil
}

func readKeyBytes(q *query, s string) error {
	n, err := question.Positive(figures.Count(s))
	if err == nil && n > maxKeyBytes {
		return fmt.Errorf("a key of %d bytes is too long, at most %d", n, maxKeyBytes)
	}
	q.needs.KeyBytes = int(n)
	return err
}

// readCost reads what a false positive costs, in lookups: never means that there
// must be none.
func readCost(q *query, s string) error {
	if s == "never" {
		q.needs.FalsePositiveCost = math.Inf(1)
		return nil
	}
	n, err := question.Positive(figures.Count(s))
	q.needs.FalsePositiveCost = float64(n)
	return err
}

func readAbsent(q *query, s string) error {
	x, err := figures.Share(s)
	if err == nil && (x > 1 || x == 0) {
		return fmt.Errorf("%q is not a share above 0%% and up to 100%%", s)
	}
	q.needs.Absent = x
	return err
}

func readMemory(q *query, s string) error {
	n, err := figures.Size(s)
	if err == nil && n < 1 {
		return errors.New("must be at least 1 byte")
	}
	q.needs.Memory = uint64(n)
	return err
}

func readKind(q *query, s string) error {
	if _, ok := recipes[s]; !ok {
		return fmt.Errorf("%q is not one of %s", s, strings.Join(slices.Sorted(maps.Keys(recipes)), ", "))
	}
	q.kind = s
	return nil
}

// read reads a query. All fields that are wrong are in the faults.
func read(values url.Values) (query, QueryError) {
	q, faults := query{given: map[string]bool{}}, QueryError{}
	for name, given := range values {
		parse := fields[name]
		if slices.Contains(question.Names(), name) {
			parse = func(q *query, text string) error { return q.Set(name, text) }
		}
		switch {
		case parse == nil:
			faults[clip(name)] = "there is no such field"
		case len(given) > 1:
			faults[name] = "is given more than once"
		case len(given[0]) > maxText:
			faults[name] = fmt.Sprintf("has %d characters, at most %d", len(given[0]), maxText)
		case given[0] == "":
		default:
			if err := parse(&q, given[0]); err != nil {
				faults[name] = err.Error()
				continue
			}
			q.given[name] = true
		}
	}
	if len(faults) == 0 {
		q.complete(faults)
	}
	if len(faults) > 0 {
		return q, faults
	}
	return q, nil
}

// complete makes of what is given two of n, p and m, and perhaps k.
func (q *query) complete(faults QueryError) {
	n, p, m, bits := q.given["n"], q.given["p"], q.given["m"], q.given["bits"]
	switch {
	case bits && p:
		faults["bits"] = "p and the bits per key follow from each other: unlock one of them"
	case bits && n && m:
		faults["bits"] = "n and m give the bits per key: unlock one of the three"
	case n && p && m:
		faults["m"] = "n and p give m: unlock one of the three"
	case bits:
		assumed, err := q.SpreadPerKey()
		if err != nil {
			faults["bits"] = err.Error()
		}
		if assumed {
			q.assume("n")
		}
	case q.given["k"] && !n && !p && !m:
		if err := q.RateOfHashes(); err != nil {
			faults["k"] = err.Error()
		}
		q.assume("p", "n")
	case !n && !p && !m:
		q.assume("n", "p")
	case n && !p && !m, m && !n && !p:
		q.assume("p")
	case p && !n && !m:
		q.assume("n")
	}
}

// assume notes what is not given, and takes the usual where nothing else has set it.
func (q *query) assume(names ...string) {
	q.assumed = append(q.assumed, names...)
	for _, name := range names {
		switch {
		case name == "n" && q.N == 0:
			q.N = question.AssumedKeys
		case name == "p" && q.P == 0:
			q.P = assumedRate
		}
	}
}

// clip shortens what comes back in a message.
func clip(s string) string {
	if len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}
