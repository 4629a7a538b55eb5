// Command sstable shows what a filter per table saves on the read path of an LSM tree: it
// fills Pebble databases that differ in nothing but their filters, looks up keys that are
// there and keys that are not, and prints how many blocks each has read.
//
//	go run ./sstable
//	go run ./sstable -data full
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"text/tabwriter"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	pebblefilter "github.com/bloomery/bloomery/contrib/pebble"
)

func main() {
	data := flag.String("data", "sample", "`sample`, 100,000 paths that are made up, or full: a million paths of Debian's packages")
	flag.Parse()
	n := map[string]int{"sample": 100_000, "full": 1_000_000}[*data]
	if n == 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	rows, err := run(*data == "full", n, 100_000)
	if err == nil {
		err = table(os.Stdout, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sstable:", err)
		os.Exit(1)
	}
}

// row is what one policy costs and saves.
type row struct {
	policy          string
	filterBytes     uint64  // of all tables
	present, absent uint64  // blocks read
	rate            float64 // of false positives
	saved           float64 // share of the blocks that absent keys cost without filters
}

// run measures each policy on the same keys.
func run(full bool, n, lookups int) ([]row, error) {
	stored, absent, err := keys(full, n, lookups)
	if err != nil {
		return nil, err
	}
	policies, err := policies()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, p := range policies {
		r, err := measure(p, stored, absent)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, r)
		last := &rows[len(rows)-1]
		last.saved = 1 - float64(last.absent)/float64(max(1, rows[0].absent))
	}
	return rows, nil
}

type policy struct {
	name   string
	policy pebble.FilterPolicy // nil for none
}

func policies() ([]policy, error) {
	all := []policy{{"none", nil}, {"built in, 10 bits", bloom.FilterPolicy(10)}}
	for _, c := range []struct {
		name   string
		config pebblefilter.Config
	}{
		{"blocked, 10 bits", pebblefilter.Config{Kind: pebblefilter.Blocked, BitsPerKey: 10}},
		{"fuse8", pebblefilter.Config{Kind: pebblefilter.Fuse8}},
		{"ribbon, 1/256", pebblefilter.Config{Kind: pebblefilter.Ribbon, ErrorRate: 1. / 256}},
	} {
		p, err := c.config.New()
		if err != nil {
			return nil, err
		}
		all = append(all, policy{c.name, p})
	}
	return all, nil
}

// The block cache has room for filters and indexes, not for the data: so many bytes for each
// key, and no fewer than leastCache. Pebble takes the memory of its memtables from it.
const (
	cachePerKey = 16
	leastCache  = 3 << 20
	memtable    = 512 << 10
)

// measure fills a database with filters of a policy and looks up present and absent keys.
func measure(p policy, stored, absent [][]byte) (row, error) {
	dir, err := os.MkdirTemp("", "sstable")
	if err != nil {
		return row{}, err
	}
	defer os.RemoveAll(dir)
	opts := &pebble.Options{CacheSize: max(leastCache, cachePerKey*int64(len(stored))), MemTableSize: memtable, Logger: silent{}}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = p.policy
	}
	db, err := pebble.Open(dir, opts)
	if err != nil {
		return row{}, err
	}
	defer db.Close()
	if err := fill(db, stored); err != nil {
		return row{}, err
	}
	r := row{policy: p.name}
	if r.filterBytes, err = filterBytes(db); err != nil {
		return row{}, err
	}
	// Indexes and filters are loaded by the first lookups, which are not counted.
	warm := stored[:min(2000, len(stored))]
	if _, err := lookUp(db, warm, true); err != nil {
		return row{}, err
	}
	if r.present, err = lookUp(db, stored[:min(len(stored), len(absent))], true); err != nil {
		return row{}, err
	}
	before := db.Metrics().Filter
	if r.absent, err = lookUp(db, absent, false); err != nil {
		return row{}, err
	}
	after := db.Metrics().Filter
	if asked := after.Hits + after.Misses - before.Hits - before.Misses; asked > 0 {
		r.rate = float64(after.Misses-before.Misses) / float64(asked)
	}
	return r, nil
}

// fill writes all keys, each with 100 bytes, and has them sorted into the lowest level.
func fill(db *pebble.DB, keys [][]byte) error {
	value := make([]byte, 100)
	rng := rand.NewChaCha8([32]byte{1})
	for len(keys) > 0 {
		batch := db.NewBatch()
		n := min(1000, len(keys))
		for _, key := range keys[:n] {
			rng.Read(value)
			if err := batch.Set(key, value, nil); err != nil {
				return err
			}
		}
		if err := batch.Commit(pebble.NoSync); err != nil {
			return err
		}
		keys = keys[n:]
	}
	if err := db.Flush(); err != nil {
		return err
	}
	return db.Compact(context.Background(), []byte{0}, []byte{0xff}, true)
}

// lookUp asks for keys, which must all be there or all be absent, and returns how many
// blocks Pebble has read for them. Get would not do: it never asks the filters of the lowest
// level, where most keys are.
func lookUp(db *pebble.DB, keys [][]byte, there bool) (uint64, error) {
	before := db.Metrics().BlockCache.Misses
	iter, err := db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return 0, err
	}
	for _, key := range keys {
		if iter.SeekPrefixGE(key) != there {
			return 0, errors.Join(fmt.Errorf("%q is there: %v, want %v", key, !there, there), iter.Close())
		}
	}
	if err := iter.Close(); err != nil {
		return 0, err
	}
	return uint64(db.Metrics().BlockCache.Misses - before), nil
}

// filterBytes returns the size of all filters.
func filterBytes(db *pebble.DB) (n uint64, err error) {
	levels, err := db.SSTables(pebble.WithProperties())
	for _, level := range levels {
		for _, t := range level {
			n += t.Properties.FilterSize
		}
	}
	return n, err
}

// keys returns n keys to store and as many absent ones as there are lookups, in random order:
// paths that are made up, or those of Debian's packages, evenly spread over their list, which
// corpora.sh fetches if it is not there.
func keys(full bool, n, lookups int) (stored, absent [][]byte, err error) {
	var all [][]byte
	for i := range n + lookups {
		all = append(all, fmt.Appendf(nil, "usr/share/doc/package-%04d/examples/file-%07d.gz", i%4999, i))
	}
	if full {
		if out, err := exec.CommandContext(context.Background(), "../../scripts/corpora.sh").CombinedOutput(); err != nil {
			return nil, nil, fmt.Errorf("corpora.sh: %w: %s", err, out)
		}
		text, err := os.ReadFile("../../corpora/paths.txt")
		if err != nil {
			return nil, nil, err
		}
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		for i := range all {
			all[i] = lines[i*len(lines)/len(all)]
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n], all[n:], nil
}

// table prints rows for people.
func table(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "filter\tfilter bytes\tblocks read, present\tabsent\tsaved\tfalse positives\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.2f%%\t%.2f%%\t\n", r.policy, r.filterBytes, r.present, r.absent, 100*r.saved, 100*r.rate)
	}
	return t.Flush()
}

// silent keeps Pebble from writing about every flush.
type silent struct{}

func (silent) Infof(string, ...any)      {}
func (silent) Errorf(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
func (silent) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
