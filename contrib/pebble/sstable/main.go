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

// policy is how tables get their filters, and what that costs and saves.
type policy struct {
	name            string
	filters         pebble.FilterPolicy // nil for none
	bytes           uint64              // of all filters
	present, absent uint64              // blocks read
	rate            float64             // of false positives
	saved           float64             // share of the blocks that absent keys cost without filters
}

func policies() ([]policy, error) {
	blocked, err1 := pebblefilter.Config{Kind: pebblefilter.Blocked, BitsPerKey: 10}.New()
	fuse, err2 := pebblefilter.Config{Kind: pebblefilter.Fuse8}.New()
	ribbon, err3 := pebblefilter.Config{Kind: pebblefilter.Ribbon, ErrorRate: 1. / 256}.New()
	return []policy{
		{name: "none"},
		{name: "built in, 10 bits", filters: bloom.FilterPolicy(10)},
		{name: "blocked, 10 bits", filters: blocked},
		{name: "fuse8", filters: fuse},
		{name: "ribbon, 1/256", filters: ribbon},
	}, errors.Join(err1, err2, err3)
}

// run measures each policy with n keys, and as many lookups of present and of absent ones.
func run(full bool, n, lookups int) ([]policy, error) {
	all, err := paths(full, n+lookups)
	if err != nil {
		return nil, err
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	policies, err := policies()
	if err != nil {
		return nil, err
	}
	for i := range policies {
		p := &policies[i]
		if err := p.measure(all[:n], all[n:]); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		p.saved = 1 - float64(p.absent)/float64(max(1, policies[0].absent))
	}
	return policies, nil
}

// measure fills a database and looks up keys that are there, and keys that are not.
func (p *policy) measure(stored, absent [][]byte) error {
	dir, err := os.MkdirTemp("", "sstable")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The block cache has room for filters and indexes, not for the data. Pebble takes its memtables from it.
	opts := &pebble.Options{CacheSize: max(3<<20, 16*int64(len(stored))), MemTableSize: 512 << 10, Logger: quiet{pebble.DefaultLogger}}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = p.filters
	}
	db, err := pebble.Open(dir, opts)
	if err != nil {
		return err
	}
	defer db.Close()
	if p.bytes, err = fill(db, stored); err != nil {
		return err
	}
	// Indexes and filters are loaded by the first lookups, which are not counted.
	if _, err := lookUp(db, stored[:len(absent)/50], true); err != nil {
		return err
	}
	if p.present, err = lookUp(db, stored[:len(absent)], true); err != nil {
		return err
	}
	before := db.Metrics().Filter
	p.absent, err = lookUp(db, absent, false)
	after := db.Metrics().Filter
	if asked := after.Hits + after.Misses - before.Hits - before.Misses; asked > 0 {
		p.rate = float64(after.Misses-before.Misses) / float64(asked)
	}
	return err
}

// fill writes all keys, each with 100 bytes, has them sorted into the lowest level, and returns the size
// of all filters.
func fill(db *pebble.DB, keys [][]byte) (filters uint64, err error) {
	value, rng := make([]byte, 100), rand.NewChaCha8([32]byte{1})
	for _, key := range keys {
		rng.Read(value)
		if err := db.Set(key, value, pebble.NoSync); err != nil {
			return 0, err
		}
	}
	if err := db.Compact(context.Background(), []byte{0}, []byte{0xff}, true); err != nil {
		return 0, err
	}
	levels, err := db.SSTables(pebble.WithProperties())
	for _, level := range levels {
		for _, t := range level {
			filters += t.Properties.FilterSize
		}
	}
	return filters, err
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
	err = iter.Close()
	return uint64(db.Metrics().BlockCache.Misses - before), err
}

// paths returns n keys: paths that are made up, or those of Debian's packages, from all over their
// list, which corpora.sh fetches if it is not there.
func paths(full bool, n int) ([][]byte, error) {
	all := make([][]byte, n)
	for i := range all {
		all[i] = fmt.Appendf(nil, "usr/share/doc/package-%04d/examples/file-%07d.gz", i%4999, i)
	}
	if !full {
		return all, nil
	}
	if out, err := exec.CommandContext(context.Background(), "../../scripts/corpora.sh").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("corpora.sh: %w: %s", err, out)
	}
	text, err := os.ReadFile("../../corpora/paths.txt")
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	for i := range all {
		all[i] = lines[i*len(lines)/n]
	}
	return all, err
}

// table prints what each policy costs and saves.
func table(w io.Writer, policies []policy) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "filter\tfilter bytes\tblocks read, present\tabsent\tsaved\tfalse positives\t")
	for _, p := range policies {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.2f%%\t%.2f%%\t\n", p.name, p.bytes, p.present, p.absent, 100*p.saved, 100*p.rate)
	}
	return t.Flush()
}

// quiet keeps Pebble from writing about every flush.
type quiet struct{ pebble.Logger }

func (quiet) Infof(string, ...any) {}
