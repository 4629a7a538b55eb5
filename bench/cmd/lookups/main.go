// Command lookups times lookups in every kind of filter at three error rates
// and writes them, beside the memory that they take, into docs/static.md and
// docs/img/lookups.svg.
//
//	go run ./cmd/lookups -doc ../docs/static.md -plot ../docs/img/lookups.svg
//
// The kinds of one rate take turns, and the fastest of their rounds counts, by CPU
// time.
package main

import (
	"context"
	"encoding"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bench/internal/report"
	"github.com/bloomery/bloomery/bench/internal/timing"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

var rates = []float64{1e-2, 1e-3, 1e-4}

// asked is how many keys of each list are asked for, half of them present.
const asked = 1 << 20

// figure is what one kind takes at one rate.
type figure struct {
	kind       string
	rate       float64
	bitsPerKey float64 // of the whole file
	one, batch float64 // ns per lookup
}

func main() {
	n := flag.Int("n", 10_000_000, "`keys` in each filter")
	rounds := flag.Int("rounds", 15, "rounds, of which the fastest counts")
	doc := flag.String("doc", "", "`file` whose table is written anew, standard output if empty")
	plot := flag.String("plot", "", "`file` to draw to")
	flag.Parse()
	if err := run(*n, *rounds, *doc, *plot); err != nil {
		fmt.Fprintln(os.Stderr, "lookups:", err)
		os.Exit(1)
	}
}

func run(n, rounds int, doc, plot string) error {
	if n < 1 || rounds < 1 {
		return errors.New("keys and rounds must be positive")
	}
	started := time.Now()
	var all []figure
	for _, rate := range rates {
		fmt.Fprintf(os.Stderr, "filters of %d keys at %g\n", n, rate)
		figures, err := measure(n, rounds, rate)
		if err != nil {
			return err
		}
		all = append(all, figures...)
	}
	text := table(all).String() + "\n" + report.Origin(context.Background(), mark, started)
	if doc == "" {
		fmt.Print(text)
	} else if err := report.Replace(doc, mark, text); err != nil {
		return err
	}
	if plot == "" {
		return nil
	}
	return os.WriteFile(plot, []byte(draw(all, n)), 0o644)
}

// mark is the command in the marks of the document.
const mark = "make bench-lookups"

// measure fills a filter of each kind and times lookups in all of them.
func measure(n, rounds int, rate float64) ([]figure, error) {
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = timing.Scramble(uint64(i))
	}
	queries := make([]uint64, asked)
	for i := range queries {
		queries[i] = timing.Scramble(uint64(n+i) << 20) // absent
		if i%2 == 0 {
			queries[i] = keys[timing.Scramble(uint64(i))%uint64(n)]
		}
	}
	var figures []figure
	var loops []timing.Loop
	for _, k := range codec.Kinds() {
		f, err := fill(k, keys, rate)
		if errors.Is(err, bloomery.ErrParameter) {
			continue // it does not go so low, or a narrower one of its kind does
		}
		if err != nil {
			return nil, fmt.Errorf("%s at %g: %w", k.Name, rate, err)
		}
		if k.Features.Static && f.Stats().Predicted < rate/100 {
			continue // the next narrower one serves
		}
		data, err := f.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			return nil, err
		}
		family := strings.TrimRight(k.Name, "0123456789") // the fuse filter of the rate
		figures = append(figures, figure{kind: family, rate: rate, bitsPerKey: 8 * float64(len(data)) / float64(n)})
		loops = append(loops, timing.Over(queries, asked/4, func(dst []bool, hs []uint64) {
			for i, h := range hs {
				dst[i] = f.ContainsHash(h)
			}
		}), timing.Over(queries, asked/4, f.ContainsHashes))
	}
	times := timing.Interleave(loops, rounds, false, timing.CPU)
	for i := range figures {
		figures[i].one, figures[i].batch = times[2*i], times[2*i+1]
	}
	return figures, nil
}

// fill returns a filter of a kind that holds the keys.
func fill(k codec.Kind, keys []uint64, rate float64) (bloomery.Hashed, error) {
	if k.Features.Static {
		return k.Build(slices.Clone(keys), rate, hashing.Hasher{})
	}
	f, err := k.New(len(keys), rate, hashing.Hasher{})
	if err != nil {
		return nil, err
	}
	if a, ok := f.(bloomery.Adder); ok {
		a.AddHashes(nil, keys)
		return f, nil
	}
	for _, h := range keys {
		if err := f.(bloomery.Inserter).InsertHash(h); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// table has a row for each kind with its figures at all rates.
func table(all []figure) *report.Table {
	t := &report.Table{Head: []string{"kind"}}
	for _, rate := range rates {
		p := fmt.Sprintf("%g%%", 100*rate)
		t.Head = append(t.Head, "bits per key at "+p, "ns one by one", "ns in batches")
	}
	at := map[string][]string{}
	var names []string
	for _, f := range all {
		if at[f.kind] == nil {
			names = append(names, f.kind)
			at[f.kind] = strings.Split(strings.Repeat("-,", 3*len(rates)), ",")[:3*len(rates)]
		}
		for i, rate := range rates {
			if rate == f.rate {
				copy(at[f.kind][3*i:], []string{fmt.Sprintf("%.2f", f.bitsPerKey), fmt.Sprintf("%.1f", f.one), fmt.Sprintf("%.1f", f.batch)})
			}
		}
	}
	for _, name := range names {
		t.Row(append([]string{name}, at[name]...)...)
	}
	return t
}
