// The table of docs/formats.md.

package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/foreign"
)

// tableQueries is how many absent keys a rate of the table is measured with: at 1% one
// standard deviation is 2% of it.
const tableQueries = 200_000

// TestFormatsTable holds the table of docs/formats.md to the formats, and measures their
// rates for it.
func TestFormatsTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| format | read | write | add | union | promised at 1% | 10 keys | 1,000 keys | 100,000 keys |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, f := range foreignFormats {
		_, adds := sampleOf(t, f, 10, 1).(foreignAdder)
		_, unites := sampleOf(t, f, 10, 1).(interface{ Union(*foreign.Bloom) error })
		unites = unites || f.name == parquetFormat.name
		fmt.Fprintf(&b, "| `%s`, %s | yes | %s | %s | %s | %s | %s | %s | %s |\n", f.name, f.is, yes(f.write != nil), yes(adds && f.write != nil), yes(unites),
			promised(sampleOf(t, f, 1000, 1)), f.measured(t, 10), f.measured(t, 1000), f.measured(t, 100_000))
	}
	generated(t, "../../docs/formats.md", "formats", b.String())
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// sampleOf returns a filter of n random keys at 1%; those of two seeds differ.
func sampleOf(t *testing.T, format foreignFormat, n, seed uint64) (f foreignFilter) {
	t.Helper()
	var err error
	random := rand.NewPCG(n, seed)
	switch {
	case format.create != nil:
		f, err = format.create(n, 0.01)
	case format.build != nil:
		hashes := make([]uint64, n)
		for i := range hashes {
			hashes[i] = random.Uint64()
		}
		f, err = format.build(hashes, foreignKey{})
	default: // Cassandra's table for 1%: 10 bits, 5 of them set
		words := (10*n + 20 + 63) / 64
		f, err = format.open(append([]byte{0, 0, 0, 5, byte(words >> 24), byte(words >> 16), byte(words >> 8), byte(words)}, make([]byte, 8*words)...), foreignKey{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if to, ok := f.(foreignAdder); ok {
		for range n {
			to.Add(binary.LittleEndian.AppendUint64(nil, random.Uint64()))
		}
	}
	return f
}

// promised is the rate of the textbook's formula for the size that the format takes, or
// that of the format.
func promised(f foreignFilter) string {
	b, ok := f.(*foreign.Bloom)
	if !ok {
		return shareText(f.Stats().Asked)
	}
	return shareText(rateWhenFull(b, 1000))
}

// measured is the rate that filters of n keys have. Of small ones several are made, by
// other keys each.
func (f foreignFormat) measured(t *testing.T, n uint64) string {
	t.Helper()
	wrong := uint64(0)
	filters := min(max(20_000/n, 1), 200)
	for seed := range filters {
		w, err := probeKeys(t.Context(), sampleOf(t, f, n, seed), tableQueries/filters)
		if err != nil {
			t.Fatal(err)
		}
		wrong += w
	}
	if wrong < 10 {
		return "too low to measure"
	}
	return fmt.Sprintf("%.2g%%", 100*float64(wrong)/tableQueries)
}
