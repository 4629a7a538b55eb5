// Package question reads what people ask about the size of a filter: its figures, and
// what it must be able to do. It is the one reader for bloomery plan, the calculator of
// the page and FILTER.PLAN.
package question

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/sizing"
)

// AssumedKeys is the number of keys where it does not matter.
const AssumedKeys = 1_000_000

const (
	maxPerKey = 1000 // bits: more than any filter has use for
	maxHashes = 1 << 20
)

// Figures are the figures that are given; those that are 0 are not.
type Figures struct {
	sizing.Params
	PerKey float64 // bits per key
}

// fields are the figures by name, and how they are read.
var fields = []struct {
	name string
	read func(f *Figures, text string) error
}{
	{"n", func(f *Figures, s string) (err error) { f.N, err = Positive(figures.Count(s)); return }},
	{"p", func(f *Figures, s string) (err error) { f.P, err = figures.Rate(s); return }},
	{"m", func(f *Figures, s string) (err error) { f.M, err = Positive(figures.Bits(s)); return }},
	{"k", (*Figures).readHashes},
	{"bits", (*Figures).readPerKey},
}

// Names returns the names of the figures: n, p, m, k and bits, which is per key.
func Names() []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// Set reads one of the figures that Names lists, as people write it.
func (f *Figures) Set(name, text string) error {
	for _, field := range fields {
		if field.name == name {
			return field.read(f, text)
		}
	}
	return fmt.Errorf("%q is not one of %s", name, strings.Join(Names(), ", "))
}

func (f *Figures) readHashes(s string) error {
	n, err := Positive(figures.Count(s))
	if err == nil && n > maxHashes {
		return fmt.Errorf("%d bits for a key are too many, at most %d", n, maxHashes)
	}
	f.K = int(n)
	return err
}

func (f *Figures) readPerKey(s string) error {
	x, err := figures.Amount(s)
	if err != nil || !(x > 0 && x <= maxPerKey) {
		return fmt.Errorf("%q is not a number of bits per key, above 0 and up to %d", s, maxPerKey)
	}
	f.PerKey = x
	return nil
}

// Positive refuses 0 as a value that was read.
func Positive(n uint64, err error) (uint64, error) {
	if err == nil && n == 0 {
		return 0, errors.New("must be at least 1")
	}
	return n, err
}

// SpreadPerKey computes m from the bits per key and n, which is assumed if it is not
// given, or n from them and m.
func (f *Figures) SpreadPerKey() (assumed bool, err error) {
	if f.M != 0 {
		n := math.Floor(float64(f.M) / f.PerKey)
		if n < 1 || n >= sizing.MaxBits {
			return false, fmt.Errorf("%d bits are no whole key at %v bits per key, or too many", f.M, f.PerKey)
		}
		f.N = uint64(n)
		return false, nil
	}
	if assumed = f.N == 0; assumed {
		f.N = AssumedKeys
	}
	m := math.Ceil(f.PerKey * float64(f.N))
	if m >= sizing.MaxBits {
		return assumed, fmt.Errorf("%v bits for each of %d keys are too many, at most 2^63 in all", f.PerKey, f.N)
	}
	f.M = uint64(m)
	return assumed, nil
}

// RateOfHashes computes p from k: the rate that it is the best for.
func (f *Figures) RateOfHashes() error {
	if f.P = math.Ldexp(1, -f.K); f.P == 0 {
		return fmt.Errorf("%d bits for a key are too many: no rate is so low", f.K)
	}
	return nil
}

// Advise returns the advice for a need and the figures of a question: by sizing.Fit if a size
// is among them, else by sizing.Advise. All figures are in solved.
func Advise(needs sizing.Needs, asked, solved sizing.Params) (sizing.Advice, error) {
	needs.Hashes = asked.K
	if needs.Keys == 0 { // with headroom, they are fewer than the capacity
		needs.Keys = solved.N
	}
	needs.ErrorRate = solved.P
	if asked.M == 0 {
		return sizing.Advise(needs)
	}
	high, memory := bits.Mul64(asked.M/8, uint64(max(needs.Sets, 1))) // m is for one set
	if high != 0 {
		memory = math.MaxUint64
	}
	if needs.Memory == 0 || memory < needs.Memory {
		needs.Memory = max(memory, 1)
	}
	if asked.P == 0 {
		needs.ErrorRate = 0
	} else {
		needs.Keys, needs.Capacity = 0, 0
	}
	return sizing.Fit(needs)
}

// needs are the words for what a set must be able to do.
var needs = []struct {
	word string
	set  func(*sizing.Needs)
}{
	{"growth", func(n *sizing.Needs) { n.Growth = true }},
	{"deletes", func(n *sizing.Needs) { n.Deletes = true }},
	{"counts", func(n *sizing.Needs) { n.Counts = true }},
	{"expiry", func(n *sizing.Needs) { n.Expiry = true }},
	{"immutable", func(n *sizing.Needs) { n.Immutable = true }},
	{"writers", func(n *sizing.Needs) { n.Writers = true }},
	{"parquet", func(n *sizing.Needs) { n.Parquet = true }},
	{"adversary", func(n *sizing.Needs) { n.Adversary = true }},
}

// Needs returns the words that Need takes.
func Needs() []string {
	words := make([]string, len(needs))
	for i, n := range needs {
		words[i] = n.word
	}
	return words
}

// Need notes in n what a word asks for, and reports whether there is such a word.
func Need(n *sizing.Needs, word string) bool {
	i := slices.Index(Needs(), word)
	if i >= 0 {
		needs[i].set(n)
	}
	return i >= 0
}
