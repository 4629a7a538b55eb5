package sizing

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
)

// Needs describes a set of keys and how it is used. The zero value of a field
// means that it is not known, or not needed.
type Needs struct {
	_ struct{}

	// Keys is how many different keys are expected, and Capacity how many to
	// hold; Capacity is Keys if it is 0.
	Keys     uint64
	Capacity uint64
	// KeyBytes is the mean length of a key; 0 stands for 16. It matters for
	// exact sets only: a filter never holds a key.
	KeyBytes int
	// ErrorRate is the false positive rate. If it is 0, it follows from
	// FalsePositiveCost and Absent, or is 1%.
	ErrorRate float64
	// FalsePositiveCost is what a false positive costs, in lookups of a filter:
	// a read from an SSD is about 1,000 of them, a round trip in a data centre
	// 5,000. +Inf means that it must not happen.
	FalsePositiveCost float64
	// Absent is the share of queries that ask for absent keys, up to 1.
	Absent float64
	// Memory is how many bytes there are.
	Memory uint64
	// Hashes is how many bits a key is to set, where that can be chosen; 0 stands for the
	// best number. Kinds that set none are advised all the same.
	Hashes int
	// Sets is how many sets of this size are asked for the same key.
	Sets int
	// Universe is how many keys there are that are ever asked for, those of the set
	// among them, if all of them are known before the first query.
	Universe uint64
	// ValueBits is the length of a value that each key has, up to 32 bits.
	ValueBits int
	// Reports is how many false positives are to be remembered, up to 2^28, if absent keys are
	// asked for again and again and somebody learns that a yes was wrong.
	Reports uint64

	Growth    bool // there may be more keys than Capacity
	Deletes   bool // keys are deleted
	Counts    bool // how often a key was put in is asked for
	Expiry    bool // keys leave by age
	Immutable bool // all keys are known before the first query
	Writers   bool // several goroutines write at once
	Parquet   bool // the bytes must be those of Parquet files
	Adversary bool // keys are adversarial

	fit fit // what is to be made of all of Memory
}

// Limits of needs. Below a rate of 1e-6 false positives are rare enough for
// anything that a filter is put before; above a tenth it saves too little.
const (
	defaultKeyBytes = 16
	defaultRate     = 0.01
	lowestAdvised   = 1e-6
	highestAdvised  = 0.1
	maxSets         = 1024 // columns of a sliced filter
	mostSets        = 1 << 20
)

func (q Needs) check() error {
	switch {
	case q.ErrorRate != 0 && !(q.ErrorRate > 0 && q.ErrorRate < 1): // NaN too
		return fmt.Errorf("%w: rate %v is not between 0 and 1", bloomery.ErrParameter, q.ErrorRate)
	case !(q.Absent >= 0 && q.Absent <= 1):
		return fmt.Errorf("%w: the share of absent keys, %v, is not between 0 and 1", bloomery.ErrParameter, q.Absent)
	case !(q.FalsePositiveCost >= 0):
		return fmt.Errorf("%w: the cost of a false positive, %v, is not at least 0", bloomery.ErrParameter, q.FalsePositiveCost)
	case q.Hashes < 0:
		return fmt.Errorf("%w: k = %d is negative", bloomery.ErrParameter, q.Hashes)
	case q.KeyBytes < 0:
		return fmt.Errorf("%w: keys of %d bytes", bloomery.ErrParameter, q.KeyBytes)
	case q.Sets < 0:
		return fmt.Errorf("%w: %d sets", bloomery.ErrParameter, q.Sets)
	case q.Sets > mostSets:
		return fmt.Errorf("%w: %d sets, at most 2^20", bloomery.ErrTooLarge, q.Sets)
	case q.Keys > MaxBits || q.Capacity > MaxBits:
		return fmt.Errorf("%w: %d keys, at most 2^63", bloomery.ErrTooLarge, max(q.Keys, q.Capacity))
	case q.Capacity != 0 && q.Capacity < q.Keys:
		return fmt.Errorf("%w: room for %d keys where %d are expected", bloomery.ErrParameter, q.Capacity, q.Keys)
	case q.Universe > MaxBits:
		return fmt.Errorf("%w: %d keys, at most 2^63", bloomery.ErrTooLarge, q.Universe)
	case q.Universe != 0 && q.Universe < max(q.Keys, q.Capacity):
		return fmt.Errorf("%w: %d keys in a universe of %d", bloomery.ErrParameter, max(q.Keys, q.Capacity), q.Universe)
	case q.ValueBits < 0 || q.ValueBits > MaxRibbonColumns:
		return fmt.Errorf("%w: values of %d bits, not of up to %d", bloomery.ErrParameter, q.ValueBits, MaxRibbonColumns)
	case q.Reports > mostReports:
		return fmt.Errorf("%w: %d reports, at most 2^28", bloomery.ErrTooLarge, q.Reports)
	case q.Immutable && (q.Growth || q.Deletes || q.Expiry || q.Writers):
		return fmt.Errorf("%w: a set that never changes has no growth, deletes, expiry or writers", bloomery.ErrParameter)
	}
	return nil
}

// filled returns q with the defaults that depend on other fields.
func (q Needs) filled() Needs {
	if q.Capacity == 0 {
		q.Capacity = q.Keys
	}
	if q.Keys == 0 {
		q.Keys = q.Capacity
	}
	if q.KeyBytes == 0 {
		q.KeyBytes = defaultKeyBytes
	}
	if q.ErrorRate == 0 {
		q.ErrorRate = q.worthRate()
	}
	q.Sets = max(q.Sets, 1)
	return q
}

// worthRate is the rate at which false positives cost a tenth of the lookups
// themselves: a lower one saves next to nothing.
func (q Needs) worthRate() float64 {
	if !q.priced() {
		return defaultRate
	}
	return min(max(0.1/(q.absent()*q.FalsePositiveCost), lowestAdvised), highestAdvised)
}

// priced reports whether the cost of a false positive is known and can be paid.
func (q Needs) priced() bool { return q.FalsePositiveCost > 0 && !math.IsInf(q.FalsePositiveCost, 1) }

// exact reports whether no error at all is allowed.
func (q Needs) exact() bool { return math.IsInf(q.FalsePositiveCost, 1) }

// absent is the share of absent keys, the worst one if it is not known.
func (q Needs) absent() float64 {
	if q.Absent == 0 {
		return 1
	}
	return q.Absent
}

// features returns what a kind must have.
func (q Needs) features() feature {
	var f feature
	for _, need := range [...]struct {
		is bool
		of feature
	}{
		{q.Growth || q.Keys == 0 && q.Capacity == 0, grows},
		{q.Deletes, deletes},
		{q.Counts, counts},
		{q.Expiry, expires},
		{q.Writers, writers},
		{q.Parquet, parquet},
		{q.exact(), exact},
		{q.ValueBits > 0, values},
	} {
		if need.is {
			f |= need.of
		}
	}
	return f
}
