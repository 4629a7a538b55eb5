package main

import (
	"fmt"

	"github.com/bloomery/bloomery/bench/internal/timing"
)

// keyed is a filter that is asked by key. Its functions are loops that are
// compiled for its library.
type keyed struct {
	insert func(keys [][]byte) error
	has    func(dst []bool, keys [][]byte)
	batch  func(dst []bool, keys [][]byte) // nil if there is none
	bits   func() uint64
}

// contestant makes fresh filters of one library.
type contestant struct {
	who   string
	fresh func() (keyed, error)
}

// contest fills a filter of each contestant with n keys, looks whether all of
// them are there, and times lookups and inserts.
func contest(b *bench, all []contestant) error {
	keys, others := keysOf(present, b.n), keysOf(absent, min(b.n, someKeys))
	there := pack(spread(keys))
	for _, c := range all {
		f, err := c.filled(keys)
		if err != nil {
			return err
		}
		b.note(c.who, bits, float64(f.bits())/float64(b.n))
		b.note(c.who, keysLost, float64(lost(keys, f.has)))
		b.note(c.who, rate, errorOf(others, f.has))
		lookups(b, c.who, single, b.pass(), there, others, f.has)
		if f.batch != nil {
			lookups(b, c.who, batch, b.pass(), there, others, f.batch)
		}
	}
	b.turns(b.rounds)
	for _, c := range all {
		b.time(c.who, insert, build(b.n, func() {
			if _, err := c.filled(keys); err != nil {
				panic(err) // it went well a moment ago
			}
		}))
	}
	b.turns(b.long())
	return nil
}

// filled returns a fresh filter with these keys.
func (c contestant) filled(keys [][]byte) (keyed, error) {
	f, err := c.fresh()
	if err == nil {
		err = f.insert(keys)
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", c.who, err)
	}
	return f, nil
}

// inserts makes a loop of single calls that report whether there was room.
func inserts(do func(key []byte) bool) func(keys [][]byte) error {
	return func(keys [][]byte) error {
		for i, key := range keys {
			if !do(key) {
				return fmt.Errorf("full at key %d of %d", i+1, len(keys))
			}
		}
		return nil
	}
}

// build returns a loop whose pass makes a filter of all n keys.
func build(n int, do func()) timing.Loop {
	return timing.Loop{Keys: n, Pass: func(int) { do() }, Litter: true}
}
