package filtertest

// Flaws in whatever changes filters: unions, clones, inserts, deletes, batches, zero
// values.

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
)

func brokenAlgebra() []broken {
	joined := func(name, want string, union func(a, b *set) error) broken {
		return broken{name: name, law: union_, want: want, kind: sets(func(k *Kind) {
			k.Union = func(a, b bloomery.Hashed) error { return union(a.(*set), b.(*set)) }
		})}
	}
	keyed := func(name, want string, change func(*Kind)) broken {
		return broken{name: name, law: wrongKey, kind: sets(change), want: want}
	}
	cloned := func(name, want string, change func(*Kind)) broken {
		return broken{name: name, law: cloneAndClear, kind: sets(change), want: want}
	}
	none := errors.New("none")
	anyKey := func(k *Kind) {
		k.Decode = func([]byte, hashing.Hasher) (bloomery.Hashed, error) {
			return k.MakeKeyed(hashing.Keyed([16]byte([]byte("a secret of ours"))))
		}
	}
	return []broken{
		joined("union-fails", `union: none`, func(*set, *set) error { return none }),
		joined("union-adds-nothing", `union forgot \d+ keys`, func(*set, *set) error { return nil }),
		joined("union-adds-more", `union: answers differ|union: Stats differ`, func(a, b *set) error {
			err := a.Union(b.Filter)
			a.AddHashes(nil, hashes(5000, 99))
			return err
		}),
		joined("union-of-capacities", `union with another capacity: <nil>, want ErrIncompatible`, func(a, b *set) error {
			if a.Stats().Capacity != b.Stats().Capacity {
				return nil
			}
			return a.Union(b.Filter)
		}),
		joined("union-of-rates", `union with another rate: <nil>, want ErrIncompatible`, func(a, b *set) error {
			if a.Stats().Asked != b.Stats().Asked {
				return nil
			}
			return a.Union(b.Filter)
		}),
		joined("union-of-hashes", `union with hasher 2: <nil>, want ErrIncompatible`, func(a, b *set) error {
			if a.Stats().Capacity == 100 {
				return nil
			}
			return a.Union(b.Filter)
		}),
		joined("refused-union-adds", `a refused union changed its receiver`, func(a, b *set) error {
			err := a.Union(b.Filter)
			if err != nil {
				a.AddHash(1)
			}
			return err
		}),
		keyed("keyed-is-not-made", `none`, func(k *Kind) {
			k.MakeKeyed = func(hashing.Hasher) (bloomery.Hashed, error) { return nil, none }
		}),
		keyed("right-key-is-refused", `right key: none`, func(k *Kind) {
			k.Decode = func([]byte, hashing.Hasher) (bloomery.Hashed, error) { return nil, none }
		}),
		keyed("right-key-gives-another-hash", `right key: another hash`, func(k *Kind) {
			sound := k.Decode
			k.Decode = func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
				if _, err := sound(data, h); err != nil {
					return nil, err
				}
				return k.MakeKeyed(hashing.Hasher{})
			}
		}),
		keyed("wrong-key-is-taken", `wrong key: <nil>, want ErrKey`, anyKey),
		keyed("no-key-is-taken", `no key: <nil>, want ErrKey`, anyKey),
		keyed("encoding-has-half-of-the-key", `the encoding holds the secret key`, leaky("a secret")),
		keyed("encoding-has-the-other-half", `the encoding holds the secret key`, leaky(" of ours")),
		cloned("clone-is-empty", `the clone encodes to other bytes`, func(k *Kind) {
			k.Clone = func(bloomery.Hashed) bloomery.Hashed { f, _ := k.Make(nil, 5000, 1e-2); return f }
		}),
		cloned("clone-is-the-same", `clearing the clone changed the original`, func(k *Kind) {
			k.Clone = func(a bloomery.Hashed) bloomery.Hashed { return a }
		}),
		cloned("clear-keeps-keys", `after Clear 5000 of 5000 keys are there`, func(k *Kind) { k.Clear = func(bloomery.Hashed) {} }),
		cloned("clear-keeps-items", `after Clear: bloom: about 1 key `, func(k *Kind) {
			k.Clear = func(a bloomery.Hashed) {
				a.(*set).Clear()
				a.(*set).stats = func(s *bloomery.Stats) { s.Items = 1 }
			}
		}),
		cloned("clear-keeps-saturation", `after Clear: `, func(k *Kind) {
			k.Clear = func(a bloomery.Hashed) {
				a.(*set).Clear()
				a.(*set).stats = func(s *bloomery.Stats) { s.Saturation = 1e-9 }
			}
		}),
	}
}

// union_ is law union: a parameter has its name.
func union_(t *testing.T, k Kind) {
	t.Helper()
	union(t, k)
}

// leaky makes encodings show a text.
func leaky(text string) func(*Kind) {
	return func(k *Kind) {
		sound, decode := k.MakeKeyed, k.Decode
		leak := func(data []byte) []byte { return append(data, text...) }
		k.MakeKeyed = func(h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := sound(h)
			f.(*set).flaw = flaw{marshal: leak, appended: leak, written: leak}
			return f, err
		}
		k.Decode = func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			return decode(data[:len(data)-len(text)], h)
		}
	}
}

func brokenMultisets() []broken {
	of := func(name, want string, law func(*testing.T, Kind), change func(*bag)) broken {
		return broken{name: name, law: law, kind: bags(change), want: want}
	}
	inserts := 0
	return []broken{
		of("multiset-forgets", `FAIL: .*/History|key .* is forgotten`, multisets, func(b *bag) { b.one = forgetful }),
		of("insert-is-refused", `insert with 100 of 2000 keys: full`, history, func(b *bag) {
			inserts = 0
			b.insert = func(f *cuckoo.Filter, h uint64) error {
				if inserts++; inserts > 200 { // of it and of its twin
					return bloomery.ErrFull
				}
				return f.InsertHash(h)
			}
		}),
		of("insert-drops-keys", `which is there 1 times, is forgotten`, history, func(b *bag) {
			b.insert = func(f *cuckoo.Filter, h uint64) error {
				if h%100 == 7 {
					return nil
				}
				return f.InsertHash(h)
			}
		}),
		of("count-is-too-low", `count 0, it is there 1 times`, history, func(b *bag) {
			b.count = func(_, n uint64) uint64 { return n - min(n, 1) }
		}),
		of("delete-is-refused", `delete of key .*, which is there \d times, was refused`, history, func(b *bag) {
			b.remove = func(*cuckoo.Filter, uint64) bool { return false }
		}),
		of("delete-removes-all", `is forgotten|count \d, it is there \d times`, history, func(b *bag) {
			b.remove = func(f *cuckoo.Filter, h uint64) bool {
				for f.DeleteHash(h) {
				}
				return true
			}
		}),
		of("delete-leaves-something", `all keys deleted: [1-9]\d* items`, history, func(b *bag) {
			b.remove = func(f *cuckoo.Filter, h uint64) bool {
				return h%500 == 7 || f.DeleteHash(h)
			}
		}),
		of("items-stay", `all keys deleted: 1 items, saturation 0`, history, func(b *bag) {
			b.stats = func(s *bloomery.Stats) { s.Items = 1 }
		}),
		of("saturation-stays", `all keys deleted: 0 items, saturation 1`, history, func(b *bag) {
			b.stats = func(s *bloomery.Stats) { s.Saturation = 1 }
		}),
		of("history-by-chance", `the same history gave two different encodings`, history, func(b *bag) {
			inserts = 0
			b.insert = func(f *cuckoo.Filter, h uint64) error {
				if inserts++; inserts == 1 { // of the first of two
					_ = f.InsertHash(h)
				}
				return f.InsertHash(h)
			}
		}),
		of("absent-is-deleted", `which is certainly absent, was done`, deleteAbsent, func(b *bag) {
			b.remove = func(*cuckoo.Filter, uint64) bool { return true }
		}),
		of("refused-delete-forgets", `\d+ keys forgotten after deletes that were refused`, deleteAbsent, func(b *bag) {
			b.remove = func(f *cuckoo.Filter, _ uint64) bool { return f.DeleteHash(hashes(1, 42)[0]) && false }
		}),
		of("refused-delete-adds", `deletes that were refused changed the filter`, deleteAbsent, func(b *bag) {
			b.remove = func(f *cuckoo.Filter, _ uint64) bool { return f.InsertHash(1) != nil && false }
		}),
		of("full-with-another-error", `insert with \d+ keys: none, want ErrFull`, overfull, func(b *bag) {
			b.insert = func(f *cuckoo.Filter, h uint64) error {
				if f.InsertHash(h) != nil {
					return errors.New("none")
				}
				return nil
			}
		}),
		of("full-and-changed", `insert with \d+ keys said .* and changed the filter`, overfull, func(b *bag) {
			b.insert = func(f *cuckoo.Filter, h uint64) error {
				err := f.InsertHash(h)
				if err != nil {
					f.DeleteHash(hashes(1, 44)[0])
				}
				return err
			}
		}),
		of("full-too-soon", `full with 499 keys, made for 500`, overfull, func(b *bag) {
			b.insert = func(f *cuckoo.Filter, h uint64) error {
				if f.Stats().Items == 499 {
					return bloomery.ErrFull
				}
				return f.InsertHash(h)
			}
		}),
		of("overfull-forgets", `\d+ of \d+ keys forgotten, \d+ were refused`, overfull, func(b *bag) { b.one = forgetful }),
	}
}

// panicless is a filter whose batches do not look at the length of dst.
type panicless struct {
	*bloom.Filter
	write, add bool
}

func (p *panicless) ContainsHashes(dst []bool, hs []uint64) {
	if p.write && len(dst) < len(hs) {
		dst[:1][0] = false
	}
	if p.add && len(dst) < len(hs) {
		p.AddHash(hs[0])
	}
	if p.write || p.add {
		p.Filter.ContainsHashes(dst, hs)
	}
}

// deaf is a filter of which one call returns if dst is too short.
type deaf struct {
	*bloom.Filter
	call string
}

func (d *deaf) ContainsKeys(dst []bool, keys [][]byte) {
	if d.call != "ContainsKeys" || len(dst) >= len(keys) {
		d.Filter.ContainsKeys(dst, keys)
	}
}

func (d *deaf) AddHashes(dst []bool, hs []uint64) {
	if d.call != "AddHashes" || len(dst) >= len(hs) {
		d.Filter.AddHashes(dst, hs)
	}
}

func (d *deaf) AddKeys(dst []bool, keys [][]byte) {
	if d.call != "AddKeys" || len(dst) >= len(keys) {
		d.Filter.AddKeys(dst, keys)
	}
}

func brokenBatches() []broken {
	silent := func(call string) broken {
		return broken{name: call + "-does-not-panic", law: shortDst, want: call + ` of 5000 with 4999 places does not panic`, kind: Kind{
			Name: "bloom",
			Make: func([]uint64, int, float64) (bloomery.Hashed, error) { return &deaf{bloom.New(1000, 0.01), call}, nil },
		}}
	}
	short := func(name, want string, change func(*panicless)) broken {
		return broken{name: name, law: shortDst, want: want, kind: sets(func(k *Kind) {
			k.View = nil
			k.Make = func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
				f := &panicless{Filter: bloom.New(n, p)}
				f.AddHashes(nil, hs)
				change(f)
				return f, nil
			}
		})}
	}
	inserted := func(name, want string, many func(f *cuckoo.Filter, hs []uint64) (int, error)) broken {
		return broken{name: name, law: insertBatches, want: want, kind: bags(func(b *bag) { b.many = many })}
	}
	return []broken{
		silent("ContainsKeys"), silent("AddHashes"), silent("AddKeys"),
		short("no-panic", `ContainsHashes of 1 with 0 places does not panic`, func(*panicless) {}),
		short("writes-before-the-panic", `ContainsHashes of 2 with 1 places writes before it panics`, func(p *panicless) { p.write = true }),
		short("adds-before-the-panic", `a batch with a short dst changed the filter`, func(p *panicless) { p.add = true }),
		inserted("batch-stops-early", `InsertHashes = 10, <nil>, want \d+, .*full`, func(f *cuckoo.Filter, hs []uint64) (int, error) { return f.InsertHashes(hs[:10]) }),
		inserted("batch-says-nothing", `InsertHashes = \d+, <nil>, want`, func(f *cuckoo.Filter, hs []uint64) (int, error) {
			n, _ := f.InsertHashes(hs)
			return n, nil
		}),
		inserted("batch-counts-wrong", `InsertHashes = \d+, .*full.*, want`, func(f *cuckoo.Filter, hs []uint64) (int, error) {
			n, err := f.InsertHashes(hs)
			return n + 1, err
		}),
		inserted("batch-inserts-others", `InsertHashes gives another filter than single inserts`, func(f *cuckoo.Filter, hs []uint64) (int, error) {
			n, err := f.InsertHashes(hs)
			f.DeleteHash(hs[0])
			return n, err
		}),
	}
}
