package sizing

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/bloomery/bloomery"
)

// Advice is the answer of Advise: which kinds of filters serve a need, at what
// cost, with warnings where the plan has a weakness.
type Advice struct {
	// ErrorRate is the rate that the figures are for: the one asked, or the
	// one that the cost of a false positive makes worth while.
	ErrorRate float64
	// Kinds are the kinds to choose from, best first. Static kinds come first
	// for sets that never change, and kinds that count without a limit first
	// where counts are needed; then those with the fewest memory accesses,
	// then those with the fewest bytes. There may be none. With Needs.Reports a
	// corrected filter, over the best of them, is the first.
	Kinds []Choice
	// Others are the kinds that serve, too, but are worse than one of Kinds in
	// something and better in nothing. Their last reason names it.
	Others []Choice
	// Exact are a Go map, a sorted array and a Redis set of the same keys.
	Exact []Choice
	// Refused are the kinds that cannot serve.
	Refused []Refusal
	// Warnings are in the order of their weight.
	Warnings []Warning
}

// Choice is a kind of set with its cost.
type Choice struct {
	Name string // as in bloomery.Stats, or what it is called elsewhere
	Make string // what to type, as "bloom.New"
	// Bytes is its memory, BitsPerKey that over the keys that are expected. If their
	// number is not known, Bytes is 0 and BitsPerKey is that of a million keys.
	Bytes      uint64
	BitsPerKey float64
	// ErrorRate is the rate with the keys that are expected.
	ErrorRate float64
	// Keys and Asked are the capacity and the rate to make it with; Keys is 0 if the number
	// of keys is not known. Fit has others for each kind.
	Keys  uint64
	Asked float64
	// Hashes is how many bits a key sets, 0 for kinds that have no such number.
	Hashes int
	// Lookup and Insert are the memory accesses that one key costs at most.
	// Insert is 0 for kinds that are built at once.
	Lookup, Insert int
	Reasons        []string
}

// Refusal is the reason why a kind cannot serve.
type Refusal struct {
	Name   string
	Reason string
}

// unknownKeys is the number of keys that figures per key are given for when
// the true one is not known, and firstKeys what a filter that grows begins with.
const (
	unknownKeys = 1_000_000
	firstKeys   = 1000
)

// Advise ranks the kinds of filters that serve a need, with their costs beside
// those of exact sets. It advises only what this module has. It takes some 100
// microseconds. The error wraps ErrParameter if needs make no sense or
// contradict each other, and ErrTooLarge for more than 2^63 keys, 2^28 reports or
// 2^20 sets.
func Advise(needs Needs) (Advice, error) {
	if err := needs.check(); err != nil {
		return Advice{}, about("advise", err)
	}
	q := needs.filled()
	a := Advice{ErrorRate: q.ErrorRate, Exact: q.exactChoices()}
	for i := range kinds {
		choice, reason := q.offer(&kinds[i])
		if reason != "" {
			a.Refused = append(a.Refused, Refusal{kinds[i].name, reason})
			continue
		}
		a.Kinds = append(a.Kinds, choice)
	}
	q.rank(&a)
	a.Warnings = q.warnings(a)
	q.addCorrected(&a)
	return a, nil
}

// offer prices a kind, or returns the reason why it does not serve.
func (q Needs) offer(k *kind) (Choice, string) {
	if missing := q.features() &^ k.can(q); missing != 0 {
		return Choice{}, "it cannot " + missing.String()
	}
	if k.has&expires != 0 && !q.Expiry {
		return Choice{}, "it forgets keys"
	}
	if k.static && !q.Immutable {
		return Choice{}, "it is built from all keys at once and never changes"
	}
	if k.has&values != 0 && q.ValueBits == 0 {
		return Choice{}, "it keeps a value for each key"
	}
	if k.has&exact != 0 && (q.Universe == 0 || q.Capacity == 0) {
		return Choice{}, "it is built from all keys that are asked for, also those that are not in the set"
	}
	if k.bounded && q.Capacity == 0 && !q.Deletes && !q.Counts {
		return Choice{}, "how far it can grow is fixed when it is made"
	}
	if k.manySets && q.Sets == 1 {
		return Choice{}, "it is for many sets that are asked for the same key"
	}
	if k.manySets && q.Sets > maxSets {
		return Choice{}, fmt.Sprintf("it holds %d sets at most", maxSets)
	}
	p, err := q.planOf(k)
	if err != nil {
		return Choice{}, cause(err)
	}
	if q.Hashes != 0 && p.hashes != 0 && p.hashes != q.Hashes {
		return Choice{}, "how many bits a key sets cannot be chosen"
	}
	c := Choice{
		Name: k.name, Make: k.make, Lookup: p.lookup, Insert: p.insert,
		Keys: q.Capacity, Asked: q.ErrorRate, Hashes: p.hashes,
		Reasons: append([]string{k.reason}, q.reasons(k, p)...),
	}
	total, ok := q.total(k, p.bits)
	if !ok {
		return Choice{}, "it takes more than 2^63 bits"
	}
	if k.manySets {
		c.Lookup *= (q.Sets + BlockBits - 1) / BlockBits
	} else {
		c.Lookup *= q.Sets
	}
	c.BitsPerKey = float64(total) / float64(q.Sets) / float64(q.keys())
	if q.Keys > 0 {
		c.Bytes = total/8 + (total%8+7)/8
	}
	c.ErrorRate = p.rate(float64(q.keys()))
	if q.Memory > 0 && c.Bytes > q.Memory {
		return Choice{}, fmt.Sprintf("it takes %s, there are %s", size(c.Bytes), size(q.Memory))
	}
	return c, ""
}

// planOf plans one set, a grown one if nobody knows its size.
func (q Needs) planOf(k *kind) (plan, error) {
	if k.of != nil {
		return k.of(q)
	}
	if q.Keys > 0 && q.uncertain() && k.endless() {
		return k.grown(min(firstKeys, q.Keys), q.Keys, q.ErrorRate)
	}
	if q.Capacity > 0 {
		return k.planned(q.Capacity, q.ErrorRate, q.Hashes)
	}
	return k.grown(firstKeys, unknownKeys, q.ErrorRate) // only kinds that grow get here
}

// planned plans a set of n keys, with so many bits for a key where that can be chosen.
func (k *kind) planned(n uint64, p float64, hashes int) (plan, error) {
	if k.hashed != nil {
		return k.hashed(n, p, hashes)
	}
	return k.plan(n, p)
}

// total is the size of all sets in bits, false if it cannot be.
func (q Needs) total(k *kind, one uint64) (uint64, bool) {
	sets := uint64(q.Sets)
	if k.manySets {
		sets += -sets % 64 // columns come in words
	}
	high, low := bits.Mul64(one, sets)
	return low, high == 0 && low <= MaxBits
}

// keys is the number of keys that figures per key are over.
func (q Needs) keys() uint64 {
	if q.Keys == 0 {
		return unknownKeys
	}
	return q.Keys
}

// reasons are the figures that speak for or against a plan.
func (q Needs) reasons(k *kind, p plan) []string {
	var r []string
	if k.has&grows != 0 && q.Capacity == 0 {
		r = append(r, fmt.Sprintf("figures are for %d keys after a start with %d", unknownKeys, firstKeys))
	}
	if bound := -math.Log2(q.ErrorRate); q.Capacity > 0 {
		perKey := float64(p.bits) / float64(q.Capacity)
		r = append(r, fmt.Sprintf("%.2f bits for each key that there is room for, %.2f times the least possible", perKey, perKey/bound))
	}
	if q.Hashes != 0 && p.hashes == 0 {
		r = append(r, "it has no k")
	}
	if q.Adversary {
		r = append(r, "give it a keyed hash with a secret")
	}
	return r
}

// cause is the last part of an error, which is shown as a reason: what is behind
// the operation and the sentinel.
func cause(err error) string {
	text := err.Error()
	for _, sentinel := range [...]error{bloomery.ErrParameter, bloomery.ErrTooLarge} {
		if _, facts, ok := strings.Cut(text, sentinel.Error()+": "); ok {
			return facts
		}
	}
	return text
}

// size writes a number of bytes for people, in powers of two.
func size(b uint64) string {
	units := [...]string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	x, i := float64(b), 0
	for ; x >= 1024 && i < len(units)-1; i++ {
		x /= 1024
	}
	return fmt.Sprintf("%.4g %s", x, units[i])
}
