// Command figures measures the filters of package pebblefilter beside the one that Pebble
// has built in, and prints the tables of docs/databases.md: false positive rates on keys of
// several forms, and what a ribbon filter with the rate of the built-in one costs.
//
//	go run ./figures
//	go run ./figures -data ../../corpora/paths.txt
package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	pebblefilter "github.com/bloomery/bloomery/contrib/pebble"
)

func main() {
	n := flag.Int("n", 100_000, "keys of a filter")
	probes := flag.Int("probes", 1_000_000, "absent keys asked for")
	rounds := flag.Int("rounds", 51, "rounds of lookups, by turns")
	data := flag.String("data", "", "file with a key in each line, for a further form of keys")
	flag.Parse()
	if err := run(os.Stdout, *n, *probes, *rounds, *data); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// form is a form of keys. Key i is absent if i is at least the number of keys in the filter.
type form struct {
	name string
	key  func(dst []byte, i int) []byte
}

var forms = []form{
	{"random, 16 bytes", func(dst []byte, i int) []byte {
		r := rand.NewPCG(uint64(i), 7)
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, r.Uint64()), r.Uint64())
	}},
	{"sequential, 8 bytes", func(dst []byte, i int) []byte { return binary.BigEndian.AppendUint64(dst, uint64(i)) }},
	{"zero-padded, 20 digits", func(dst []byte, i int) []byte { return fmt.Appendf(dst, "%020d", i) }},
}

// fromFile is the form of the lines of a file, in random order.
func fromFile(file string, need int) (form, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return form{}, err
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if len(lines) < need {
		return form{}, fmt.Errorf("%s has %d lines, %d are needed", file, len(lines), need)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return form{"lines of " + file, func(dst []byte, i int) []byte { return append(dst, lines[i]...) }}, nil
}

// builtIn is Pebble's own policy at its usual size.
const builtIn = bloom.FilterPolicy(10)

func run(w io.Writer, n, probes, rounds int, data string) error {
	all := forms
	if data != "" {
		f, err := fromFile(data, n+probes)
		if err != nil {
			return err
		}
		all = append(slices.Clone(forms), f)
	}
	blocked, err := pebblefilter.Config{Kind: pebblefilter.Blocked, BitsPerKey: 10}.New()
	if err != nil {
		return err
	}
	fuse8, err := pebblefilter.Config{Kind: pebblefilter.Fuse8}.New()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "| keys, %d | built in, 10 bits | blocked, 10 bits | fuse8 |\n|---|---|---|---|\n", n)
	for _, f := range all {
		fmt.Fprintf(w, "| %s |", f.name)
		for _, p := range []pebble.FilterPolicy{builtIn, blocked, fuse8} {
			filter := build(p, f, n)
			fmt.Fprintf(w, " %.3f%% of %.2f bits |", 100*rate(p, filter, f, n, probes), 8*float64(len(filter))/float64(n))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n| ribbon over built in, same rate | rate | bytes | filter alone, time | lookup in a table, time |\n|---|---|---|---|---|\n")
	for _, f := range all {
		c, err := compare(f, n, probes, rounds)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %.3f%% over %.3f%% | %.3f | %.3f | %.3f |\n", f.name, 100*c.rate, 100*c.builtIn, c.bytes, c.filter, c.lookup)
	}
	return nil
}

// build returns the filter of the first n keys of a form.
func build(p pebble.FilterPolicy, f form, n int) []byte {
	w := p.NewWriter(pebble.TableFilter)
	var key []byte
	for i := range n {
		key = f.key(key[:0], i)
		w.AddKey(key)
	}
	return w.Finish(nil)
}

// rate returns the share of absent keys that a filter takes for present.
func rate(p pebble.FilterPolicy, filter []byte, f form, n, probes int) float64 {
	wrong := 0
	var key []byte
	for i := range probes {
		key = f.key(key[:0], n+i)
		if p.MayContain(pebble.TableFilter, filter, key) {
			wrong++
		}
	}
	return float64(wrong) / float64(probes)
}

// comparison is a ribbon filter over the built-in one; all but the rates are ratios.
type comparison struct{ builtIn, rate, bytes, filter, lookup float64 }

// compare builds a ribbon filter with the rate that the built-in one has on random keys.
func compare(f form, n, probes, rounds int) (comparison, error) {
	own := build(builtIn, f, n)
	c := comparison{builtIn: rate(builtIn, build(builtIn, forms[0], n), forms[0], n, probes)}
	p, err := pebblefilter.Config{Kind: pebblefilter.Ribbon, ErrorRate: c.builtIn}.New()
	if err != nil {
		return c, err
	}
	filter := build(p, f, n)
	c.rate = rate(p, filter, f, n, probes)
	c.bytes = float64(len(filter)) / float64(len(own))
	absent := make([][]byte, min(probes, 20_000))
	for i := range absent {
		absent[i] = f.key(nil, n+i)
	}
	c.filter = byTurns(rounds,
		func() { ask(builtIn, own, absent) },
		func() { ask(p, filter, absent) })
	before, closeOwn, err := lookups(builtIn, f, n, absent)
	if err != nil {
		return c, err
	}
	defer closeOwn()
	after, closeRibbon, err := lookups(p, f, n, absent)
	if err != nil {
		return c, err
	}
	defer closeRibbon()
	c.lookup = byTurns(rounds, before, after)
	return c, nil
}

func ask(p pebble.FilterPolicy, filter []byte, keys [][]byte) {
	for _, key := range keys {
		p.MayContain(pebble.TableFilter, filter, key)
	}
}

// lookups returns a function that looks up absent keys in a database of the first n keys,
// whose blocks are all in the cache, and one that closes it.
func lookups(p pebble.FilterPolicy, f form, n int, absent [][]byte) (look, done func(), err error) {
	opts := &pebble.Options{FS: vfs.NewMem(), CacheSize: 256 << 20, Logger: silent{}}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = p
	}
	db, err := pebble.Open("", opts)
	if err != nil {
		return nil, nil, err
	}
	for i := range n {
		if err := db.Set(f.key(nil, i), []byte("a value of some bytes"), pebble.NoSync); err != nil {
			return nil, nil, err
		}
	}
	if err := db.Flush(); err != nil {
		return nil, nil, err
	}
	iter, err := db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, nil, err
	}
	look = func() {
		for _, key := range absent {
			iter.SeekPrefixGE(key)
		}
	}
	return look, func() { iter.Close(); db.Close() }, nil
}

// byTurns returns the median, over all rounds, of the time of b over that of a: both suffer
// alike from whatever else the machine does.
func byTurns(rounds int, a, b func()) float64 {
	a()
	b()
	ratios := make([]float64, rounds)
	for i := range ratios {
		start := time.Now()
		a()
		middle := time.Now()
		b()
		ratios[i] = float64(time.Since(middle)) / float64(middle.Sub(start))
	}
	slices.Sort(ratios)
	return ratios[rounds/2]
}

// silent keeps Pebble from writing about every start.
type silent struct{}

func (silent) Infof(string, ...any)      {}
func (silent) Errorf(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }
func (silent) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
