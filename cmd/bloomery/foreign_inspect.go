// What inspect prints of a filter of another system.

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"text/tabwriter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
)

// foreignJSON is what inspect prints with --json of a filter of another system.
type foreignJSON struct {
	File    string     `json:"file"`
	Format  string     `json:"format"`
	Others  []string   `json:"other_formats,omitempty"`
	Variant string     `json:"variant,omitempty"`
	Hashes  int        `json:"k,omitempty"`
	Size    int        `json:"file_bytes"`
	Stats   statsJSON  `json:"stats"`
	Probe   *probeJSON `json:"probe,omitempty"`
	Verdict string     `json:"verdict"`
}

// showForeign prints what is in a file of another system.
func (o *inspectOptions) showForeign(ctx context.Context, s *shell, name string, f *foreignFile) error {
	if o.bits.value > 0 {
		return fmt.Errorf("%s: --bits is for bloomery filters, and this is %s", name, f.is)
	}
	r := inspected{probed: o.probe.value} // for its rates
	var err error
	if r.wrong, err = probeKeys(ctx, f, r.probed); err != nil {
		return err
	}
	j := foreignJSON{File: name, Format: f.name, Size: f.size, Stats: statsOf(f.foreignFilter), Verdict: f.verdict()}
	for _, other := range f.others {
		j.Others = append(j.Others, other.name)
	}
	if b, ok := f.foreignFilter.(*foreign.Bloom); ok {
		j.Variant, j.Hashes = b.Layout().Variant, b.Layout().Probes
	} else {
		r.filter.Hashed, _ = f.foreignFilter.(bloomery.Hashed)
		j.Hashes = r.k()
	}
	if r.probed > 0 {
		rate, deviation := r.rates()
		j.Probe = &probeJSON{r.probed, r.wrong, rate, deviation}
	}
	if s.asJSON {
		return s.print(j)
	}
	return j.print(s, f.is)
}

// print prints the same for people.
func (j foreignJSON) print(s *shell, is string) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("file", "%s, %s", visible(j.File), bytesText(uint64(j.Size)))
	row("format", "%s: %s", j.Format, is)
	if len(j.Others) > 0 {
		row("or", "%s: the file does not show which", strings.Join(j.Others, ", "))
	}
	if j.Variant != "" {
		row("variant", "%s", j.Variant)
	}
	keys := strings.TrimSuffix(strings.TrimSuffix(keysText(j.Stats), " key"), " keys")
	if j.Stats.Capacity > 0 {
		keys += " of " + grouped(j.Stats.Capacity)
	}
	row("keys", "%s", keys)
	k := ""
	if j.Hashes > 0 {
		k = fmt.Sprintf(", k = %d", j.Hashes)
	}
	row("array", "%s bits (%s)%s, %.4g%% in use", grouped(j.Stats.Bits), bytesText(j.Stats.Bytes), k, 100*j.Stats.Saturation)
	row("false positive rate", "%s", ratesText(j.Stats))
	if p := j.Probe; p != nil {
		row("measured", s.shown("%s ± %.2g%%: %s of %s random keys"), rateText(p.Rate), 100*p.Deviation, grouped(p.Wrong), grouped(p.Keys))
	}
	row("verdict", "%s", j.Verdict)
	return w.Flush()
}

// verdict is one sentence on a file that has no checksums.
func (f *foreignFile) verdict() string {
	s := f.Stats()
	switch {
	case f.bare:
		return "perhaps: nothing in the file shows its format"
	case s.Asked > 0 && s.Predicted > 2*s.Asked:
		// A file may ask for a rate so low that the quotient is no number.
		return fmt.Sprintf("overfull: the false positive rate is %.3g times what was asked for", min(s.Predicted/s.Asked, math.MaxFloat64))
	}
	return "lengths and numbers agree; the format has no checksum"
}

// probeKeys asks a filter for so many random keys, and counts those that it has: none
// of them was ever added.
func probeKeys(ctx context.Context, f foreignFilter, n uint64) (yes uint64, err error) {
	random := rand.NewPCG(probeSeed, 2)
	keys, found := make([][]byte, 1024), make([]bool, 1024)
	for i := range keys {
		keys[i] = make([]byte, 16)
	}
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		part := min(n, uint64(len(keys)))
		for _, key := range keys[:part] {
			binary.LittleEndian.PutUint64(key, random.Uint64())
			binary.LittleEndian.PutUint64(key[8:], random.Uint64())
		}
		f.ContainsKeys(found, keys[:part])
		for _, y := range found[:part] {
			if y {
				yes++
			}
		}
		n -= part
	}
	return yes, nil
}
