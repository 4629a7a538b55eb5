// Command hashes times every hash that a filter can have, and writes the table of
// docs/security.md.
//
//	go run ./cmd/hashes -doc ../docs/security.md
//
// All hashes take turns, the fastest of the rounds counts, and times are CPU
// time: only the ratios mean something.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bench/internal/report"
	"github.com/bloomery/bloomery/bench/internal/timing"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/hashing/named"
)

// mark is the command in the marks of the document.
const mark = "make bench-hashes"

// lengths are those of the keys, in bytes.
var lengths = []int{8, 24, 256}

func main() {
	doc := flag.String("doc", "", "write the table into this `file` instead of standard output")
	rounds := flag.Int("rounds", 15, "rounds, of which the fastest counts")
	flag.Parse()
	if err := run(*doc, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "hashes:", err)
		os.Exit(1)
	}
}

func run(doc string, rounds int) error {
	started := time.Now()
	all, err := hashes()
	if err != nil {
		return err
	}
	times, err := lookups(all[:2], rounds)
	if err != nil {
		return err
	}
	text := table(all, rounds).String() + "\n" + report.Paragraph(lookupsText) + "\n" + times.String() + "\n" +
		report.Origin(context.Background(), mark, started)
	if doc == "" {
		fmt.Print(text)
		return nil
	}
	return report.Replace(doc, mark, text)
}

// hash is one row.
type hash struct {
	name   string
	secret bool
	hasher hashing.Hasher
}

// hashes returns all hashes, the default first.
func hashes() ([]hash, error) {
	all := []hash{
		{"XXH3, the default", false, hashing.Hasher{}},
		{"SipHash-2-4, `hashing.Keyed`", true, hashing.Keyed([16]byte{1, 2, 3})},
	}
	for _, h := range named.All() {
		if h.Digests {
			continue // its keys are none of those that are measured
		}
		var secret []byte
		if h.Secret {
			secret = make([]byte, 32)
		}
		hasher, err := h.Hasher(secret)
		if err != nil {
			return nil, err
		}
		all = append(all, hash{h.Name, h.Secret, hasher})
	}
	return all, nil
}

// table times all hashes.
func table(all []hash, rounds int) *report.Table {
	t := &report.Table{Head: []string{"hash"}}
	times := make([][]float64, len(all))
	for _, n := range lengths {
		t.Head = append(t.Head, fmt.Sprintf("%d bytes", n))
		var loops []timing.Loop
		for _, h := range all {
			loops = append(loops, timing.Over(keys(n, few), 1<<14, func(dst []bool, keys [][]byte) {
				for i, key := range keys {
					dst[i] = h.hasher.Hash(key) == 0
				}
			}))
		}
		for i, ns := range timing.Interleave(loops, rounds, true, timing.CPU) {
			times[i] = append(times[i], ns)
		}
	}
	t.Head = append(t.Head, "allocations", "withstands chosen keys")
	key := make([]byte, lengths[1])
	for i, h := range all {
		row := []string{h.name}
		for j, ns := range times[i] {
			row = append(row, fmt.Sprintf("%.1f", ns/times[0][j]))
		}
		allocations := testing.AllocsPerRun(100, func() { h.hasher.Hash(key) })
		withstands := "no"
		if h.secret {
			withstands = "yes"
		}
		t.Row(append(row, fmt.Sprint(allocations), withstands)...)
	}
	return t
}

const lookupsText = `A lookup is more than its hash: the filter's memory has to come from somewhere. Whole lookups of
	24-byte keys that are absent, one by one and in batches, as a multiple of what they take with the default:`

// lookups times lookups in filters of two sizes, with hashing.
func lookups(all []hash, rounds int) (*report.Table, error) {
	t := &report.Table{Head: []string{"hash"}}
	times := make([][]float64, len(all))
	list := keys(lengths[1], 1<<18)
	for _, mib := range []uint64{1, 256} {
		t.Head = append(t.Head, fmt.Sprintf("%d MiB, one by one", mib), fmt.Sprintf("%d MiB, batches", mib))
		var loops []timing.Loop
		for _, h := range all {
			f, err := bloom.Config{Bits: mib << 23, Hashes: 8, Hasher: h.hasher}.New()
			if err != nil {
				return nil, err
			}
			for i := range mib << 14 {
				f.AddHash(timing.Scramble(i))
			}
			loops = append(loops, timing.Over(list, 1<<15, func(dst []bool, keys [][]byte) {
				for i, key := range keys {
					dst[i] = f.Contains(key)
				}
			}), timing.Over(list, 1<<15, f.ContainsKeys))
		}
		for i, ns := range timing.Interleave(loops, rounds, false, timing.CPU) {
			times[i/2] = append(times[i/2], ns)
		}
	}
	for i, h := range all {
		row := []string{h.name}
		for j, ns := range times[i] {
			row = append(row, fmt.Sprintf("%.1f", ns/times[0][j]))
		}
		t.Row(row...)
	}
	return t, nil
}

// few are as many keys as fit into the first cache.
const few = 64

// keys returns n keys of a length.
func keys(length, n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = make([]byte, length)
		for j := range all[i] {
			all[i][j] = byte(timing.Scramble(uint64(i<<16 + j)))
		}
	}
	return all
}
