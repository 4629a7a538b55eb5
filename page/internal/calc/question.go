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
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/internal/figures"
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
	assumedKeys = 1_000_000
	assumedRate = 0.01
	maxBits     = 1000 // per key: more than any filter has use for
	maxHashes   = 1 << 20
	maxKeyBytes = 1 << 20
	maxText     = 64
)

// question is a query that has been read.
type question struct {
	given   map[string]bool
	assumed []string
	params  sizing.Params // what Solve gets
	perKey  float64       // bits per key, if given
	needs   sizing.Needs
	kind    string
}

// need is a word of needs.
type need struct {
	name string
	set  func(*sizing.Needs)
}

var needWords = []need{
	{"growth", func(n *sizing.Needs) { n.Growth = true }},
	{"deletes", func(n *sizing.Needs) { n.Deletes = true }},
	{"counts", func(n *sizing.Needs) { n.Counts = true }},
	{"expiry", func(n *sizing.Needs) { n.Expiry = true }},
	{"immutable", func(n *sizing.Needs) { n.Immutable = true }},
	{"writers", func(n *sizing.Needs) { n.Writers = true }},
	{"parquet", func(n *sizing.Needs) { n.Parquet = true }},
	{"adversary", func(n *sizing.Needs) { n.Adversary = true }},
}

// fields are the parameters of a query and how they are read.
var fields = map[string]func(q *question, text string) error{
	"n":         func(q *question, s string) (err error) { q.params.N, err = positive(figures.Count(s)); return },
	"p":         func(q *question, s string) (err error) { q.params.P, err = figures.Rate(s); return },
	"m":         func(q *question, s string) (err error) { q.params.M, err = positive(figures.Bits(s)); return },
	"k":         readHashes,
	"bits":      readPerKey,
	"needs":     readNeeds,
	"key_bytes": readKeyBytes,
	"cost":      readCost,
	"absent":    readAbsent,
	"memory":    readMemory,
	"kind":      readKind,
}

func positive(n uint64, err error) (uint64, error) {
	if err == nil && n == 0 {
		return 0, errors.New("must be at least 1")
	}
	return n, err
}

func readHashes(q *question, s string) error {
	n, err := positive(figures.Count(s))
	if err == nil && n > maxHashes {
		return fmt.Errorf("%d bits for a key are too many, at most %d", n, maxHashes)
	}
	q.params.K = int(n)
	return err
}

func readPerKey(q *question, s string) error {
	x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(x > 0 && x <= maxBits) { // NaN too
		return fmt.Errorf("%q is no number of bits per key, above 0 and up to %d", s, maxBits)
	}
	q.perKey = x
	return nil
}

func readNeeds(q *question, s string) error {
	for word := range strings.SplitSeq(s, ",") {
		i := slices.IndexFunc(needWords, func(n need) bool { return n.name == strings.TrimSpace(word) })
		if i < 0 {
			return fmt.Errorf("%q is not growth, deletes, counts, expiry, immutable, writers, parquet or adversary", word)
		}
		needWords[i].set(&q.needs)
	}
	return nil
}

func readKeyBytes(q *question, s string) error {
	n, err := positive(figures.Count(s))
	if err == nil && n > maxKeyBytes {
		return fmt.Errorf("a key of %d bytes is too long, at most %d", n, maxKeyBytes)
	}
	q.needs.KeyBytes = int(n)
	return err
}

// readCost reads what a false positive costs, in lookups: never means that there
// must be none.
func readCost(q *question, s string) error {
	if s == "never" {
		q.needs.FalsePositiveCost = math.Inf(1)
		return nil
	}
	n, err := positive(figures.Count(s))
	q.needs.FalsePositiveCost = float64(n)
	return err
}

func readAbsent(q *question, s string) error {
	x, err := figures.Share(s)
	if err == nil && (x > 1 || x == 0) {
		return fmt.Errorf("%q is not a share above 0%% and up to 100%%", s)
	}
	q.needs.Absent = x
	return err
}

func readMemory(q *question, s string) error {
	n, err := figures.Size(s)
	if err == nil && n < 1 {
		return errors.New("must be at least 1 byte")
	}
	q.needs.Memory = uint64(n)
	return err
}

func readKind(q *question, s string) error {
	if _, ok := recipes[s]; !ok {
		return fmt.Errorf("%q is not one of %s", s, strings.Join(slices.Sorted(maps.Keys(recipes)), ", "))
	}
	q.kind = s
	return nil
}

// read reads a query. All fields that are wrong are in the faults.
func read(query url.Values) (question, QueryError) {
	q, faults := question{given: map[string]bool{}}, QueryError{}
	for name, values := range query {
		parse, ok := fields[name]
		switch {
		case !ok:
			faults[clip(name)] = "there is no such field"
		case len(values) > 1:
			faults[name] = "is given more than once"
		case len(values[0]) > maxText:
			faults[name] = fmt.Sprintf("has %d characters, at most %d", len(values[0]), maxText)
		case values[0] == "":
		default:
			if err := parse(&q, values[0]); err != nil {
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
func (q *question) complete(faults QueryError) {
	n, p, m, bits := q.given["n"], q.given["p"], q.given["m"], q.given["bits"]
	switch {
	case bits && p:
		faults["bits"] = "p and the bits per key follow from each other: unlock one of them"
	case bits && n && m:
		faults["bits"] = "n and m give the bits per key: unlock one of the three"
	case n && p && m:
		faults["m"] = "n and p give m: unlock one of the three"
	case bits:
		q.fromPerKey(faults)
	case q.given["k"] && !n && !p && !m:
		q.params.P = math.Ldexp(1, -min(q.params.K, 1<<12)) // the rate that it is the best for
		if q.params.P == 0 {
			faults["k"] = fmt.Sprintf("%d bits for a key are too many: no rate is so low", q.params.K)
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
func (q *question) assume(names ...string) {
	q.assumed = append(q.assumed, names...)
	for _, name := range names {
		switch {
		case name == "n" && q.params.N == 0:
			q.params.N = assumedKeys
		case name == "p" && q.params.P == 0:
			q.params.P = assumedRate
		}
	}
}

// fromPerKey computes m or n from the bits per key.
func (q *question) fromPerKey(faults QueryError) {
	if q.given["m"] {
		n := math.Floor(float64(q.params.M) / q.perKey)
		if n < 1 || n >= sizing.MaxBits {
			faults["bits"] = fmt.Sprintf("%d bits are no whole key at %v bits per key, or too many", q.params.M, q.perKey)
			return
		}
		q.params.N = uint64(n)
		return
	}
	if !q.given["n"] {
		q.assume("n")
	}
	m := math.Ceil(q.perKey * float64(q.params.N))
	if m >= sizing.MaxBits {
		faults["bits"] = fmt.Sprintf("%v bits for each of %d keys are too many, at most 2^63 in all", q.perKey, q.params.N)
		return
	}
	q.params.M = uint64(m)
}

// clip shortens what comes back in a message.
func clip(s string) string {
	if len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}
