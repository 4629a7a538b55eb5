// Command blocks shows what filters save in a goleveldb database: it fills databases that
// differ in nothing but their filters, looks up keys that are there and keys that are not,
// and prints how much each has read.
//
//	go run ./blocks
//	go run ./blocks -data ../../corpora/paths.txt
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"text/tabwriter"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"

	leveldbfilter "github.com/bloomery/bloomery/contrib/goleveldb"
)

func main() {
	data := flag.String("data", "", "file with a key in each line (default: generated paths)")
	n := flag.Int("n", 0, "keys to store (default: 1,000,000 of a file, else 100,000)")
	lookups := flag.Int("lookups", 100_000, "lookups of present and of absent keys, each")
	flag.Parse()
	rows, err := run(*data, *n, *lookups)
	if err == nil {
		err = table(os.Stdout, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "blocks:", err)
		os.Exit(1)
	}
}

// row is what one filter costs and saves.
type row struct {
	filter          string
	disk            int64   // bytes of all tables
	present, absent uint64  // bytes read
	saved           float64 // share of the bytes that absent keys cost without filters
}

// run measures each filter on the same keys.
func run(data string, n, lookups int) ([]row, error) {
	stored, absent, err := keys(data, n, lookups)
	if err != nil {
		return nil, err
	}
	ours, err := leveldbfilter.Config{BitsPerKey: 10}.New()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, f := range []struct {
		name   string
		filter filter.Filter
	}{{"none", nil}, {"built in, 10 bits", filter.NewBloomFilter(10)}, {"blocked, 10 bits", ours}} {
		r, err := measure(f.filter, stored, absent)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		r.filter = f.name
		if len(rows) > 0 {
			r.saved = 1 - float64(r.absent)/float64(max(1, rows[0].absent))
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// cachePerKey is the size of the block cache over the number of keys: it has room for filters
// and indexes, not for the data.
const cachePerKey = 16

// measure fills a database and looks up present and absent keys.
func measure(f filter.Filter, stored, absent [][]byte) (r row, err error) {
	dir, err := os.MkdirTemp("", "blocks")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	db, err := leveldb.OpenFile(dir, &opt.Options{Filter: f, BlockCacheCapacity: cachePerKey * len(stored)})
	if err != nil {
		return r, err
	}
	defer db.Close()
	if err := fill(db, stored); err != nil {
		return r, err
	}
	// Tables are opened by the first lookups, which are not counted.
	if _, err := lookUp(db, stored[:min(5000, len(stored))], true); err != nil {
		return r, err
	}
	if r.present, err = lookUp(db, stored[:min(len(stored), len(absent))], true); err != nil {
		return r, err
	}
	if r.absent, err = lookUp(db, absent, false); err != nil {
		return r, err
	}
	var s leveldb.DBStats
	if err := db.Stats(&s); err != nil {
		return r, err
	}
	for _, size := range s.LevelSizes {
		r.disk += size
	}
	return r, nil
}

// fill writes all keys, each with 100 bytes, and has them sorted into one level.
func fill(db *leveldb.DB, keys [][]byte) error {
	value := make([]byte, 100)
	rng := rand.NewChaCha8([32]byte{1})
	for len(keys) > 0 {
		var batch leveldb.Batch
		n := min(1000, len(keys))
		for _, key := range keys[:n] {
			rng.Read(value)
			batch.Put(key, value)
		}
		if err := db.Write(&batch, nil); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return db.CompactRange(util.Range{})
}

// lookUp asks for keys, which must all be there or all be absent, and returns how many
// bytes goleveldb has read for them.
func lookUp(db *leveldb.DB, keys [][]byte, there bool) (uint64, error) {
	var before, after leveldb.DBStats
	if err := db.Stats(&before); err != nil {
		return 0, err
	}
	for _, key := range keys {
		_, err := db.Get(key, nil)
		if err != nil && !errors.Is(err, leveldb.ErrNotFound) || (err == nil) != there {
			return 0, fmt.Errorf("%q: %w, want it there: %v", key, err, there)
		}
	}
	err := db.Stats(&after)
	return after.IORead - before.IORead, err
}

// keys returns n keys to store and as many absent ones as there are lookups, in random order:
// lines of a file, evenly spread over it, or paths that are made up.
func keys(file string, n, lookups int) (stored, absent [][]byte, err error) {
	if n == 0 {
		n = 100_000
		if file != "" {
			n = 1_000_000
		}
	}
	var all [][]byte
	if file == "" {
		for i := range n + lookups {
			all = append(all, fmt.Appendf(nil, "usr/share/doc/package-%04d/examples/file-%07d.gz", i%4999, i))
		}
	} else if all, err = lines(file, n+lookups); err != nil {
		return nil, nil, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n], all[n:], nil
}

// lines returns n lines of a file, evenly spread over it.
func lines(file string, n int) ([][]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if len(all) < n {
		return nil, fmt.Errorf("%s has %d lines, %d are needed", file, len(all), n)
	}
	for i := range n {
		all[i] = all[i*len(all)/n]
	}
	return all[:n], nil
}

// table prints rows for people.
func table(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "filter\tbytes on disk\tbytes read, present\tabsent\tsaved\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.2f%%\t\n", r.filter, r.disk, r.present, r.absent, 100*r.saved)
	}
	return t.Flush()
}
