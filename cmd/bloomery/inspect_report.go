// What inspect prints, as text and as JSON.

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/sizing"
)

// inspectJSON is what inspect prints with --json.
type inspectJSON struct {
	File     string       `json:"file"`
	Form     string       `json:"form"`
	Kind     string       `json:"kind"`
	Hash     string       `json:"hash"`
	Seed     string       `json:"seed,omitempty"`
	Check    string       `json:"fingerprint,omitempty"`
	Function string       `json:"function,omitempty"`
	Hashes   int          `json:"k,omitempty"`
	Size     int64        `json:"file_bytes"`
	Plain    uint64       `json:"plain_bytes"`
	Identity string       `json:"checksum"`
	Stats    *statsJSON   `json:"stats,omitempty"`
	Reports  *uint64      `json:"reports,omitempty"`
	Fill     []float64    `json:"fill,omitempty"`
	Probe    *probeJSON   `json:"probe,omitempty"`
	Damage   []damageJSON `json:"damage"`
	Verdict  string       `json:"verdict"`
	Bits     string       `json:"bits,omitempty"`
}

// uninspectedJSON is what inspect prints with --json for a file that is not a
// filter.
type uninspectedJSON struct {
	File  string `json:"file"`
	Error string `json:"error"`
}

type probeJSON struct {
	Keys      uint64  `json:"keys"`
	Wrong     uint64  `json:"wrong"`
	Rate      float64 `json:"rate"`
	Deviation float64 `json:"deviation"`
}

type damageJSON struct {
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
	Cause string `json:"cause"`
}

// print prints all that was found.
func (r *inspected) print(s *shell) error {
	if s.asJSON {
		return s.print(r.json())
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	i := r.info
	row("file", "%s, %s, %s form", visible(r.name), bytesText(uint64(r.fileSize)), i.Form)
	over := ""
	if c := r.corrected(); c != nil {
		over = " over " + c.Filter().Stats().Kind
	}
	row("kind", "%s (%d)%s", kindText(i), i.Kind, over)
	if i.Hash == 0 {
		row("hash", "%s, seed %d", i.Hash, i.Check)
	} else {
		name := i.Hash.String()
		if f, ok := functionOf(i); ok {
			name = f.Name
		}
		row("hash", "%s, fingerprint %016x", name, i.Check)
	}
	if r.filter.Hashed == nil && i.Capacity > 0 { // the header of stripes does not say it
		row("made for", "%s keys at %s", grouped(i.Capacity), rateText(i.Rate))
	}
	if r.filter.Hashed != nil {
		r.printStats(s, row)
	}
	row("checksum", "%016x", i.Identity)
	for _, d := range i.Damage {
		row(s.paint(s.out, red, "damage"), "offset %d to %d: %s", d.From, d.To, d.Cause)
	}
	text, c := r.verdict()
	row("verdict", "%s", s.paint(s.out, c, text))
	if err := w.Flush(); err != nil || r.bitCount == 0 {
		return err
	}
	_, err := fmt.Fprintf(s.out, "\nbits 0 to %s of %s:\n%s\n", grouped(r.bitCount-1), grouped(r.arrayBits()), bitText(r.bits, r.bitCount, bitsPerRow))
	return err
}

// bitsPerRow is how many bits stand in a row: a word of the file.
const bitsPerRow = 64

// bitText writes the first n bits of an array as 0 and 1, the lowest bit of each
// byte first, as filters number them; rows have so many each.
func bitText(data []byte, n, perRow uint64) string {
	var b strings.Builder
	for i := range n {
		if i > 0 && i%perRow == 0 {
			b.WriteByte('\n')
		}
		b.WriteByte('0' + data[i/8]>>(i%8)&1)
	}
	return b.String()
}

// arrayBits is the number of bits in the payload, without those that fill up its last word.
func (r *inspected) arrayBits() uint64 {
	all := 8 * r.info.Payload
	if f := r.filter.Hashed; f != nil {
		if n := f.Stats().Bits; n < all && all-n < bitsPerRow {
			return n
		}
	}
	return all
}

// readBits keeps the first n bits of the payload.
func (r *inspected) readBits(f io.Reader, n uint64) error {
	if r.info.Form == codec.FormTransport {
		f = codec.NewReader(f)
	}
	r.bitCount = min(n, r.arrayBits())
	r.bits = make([]byte, (r.bitCount+7)/8)
	if _, err := io.CopyN(io.Discard, f, payloadOffset); err != nil {
		return err
	}
	_, err := io.ReadFull(f, r.bits)
	return err
}

// payloadOffset is where the payload of the plain form begins.
const payloadOffset = 64

// kindText is the name of the kind, which may not be known here.
func kindText(i codec.Info) string {
	if i.Name == "" {
		return "unknown"
	}
	return i.Name
}

// printStats prints what the filter reports about itself.
func (r *inspected) printStats(s *shell, row func(name, format string, args ...any)) {
	stats := statsOf(r.filter.Hashed)
	keys := strings.TrimSuffix(strings.TrimSuffix(keysText(stats), " key"), " keys")
	if stats.Capacity > 0 {
		keys += " of " + grouped(stats.Capacity)
	}
	row("keys", "%s", keys)
	k := ""
	if n := r.k(); n > 0 {
		k = fmt.Sprintf(", k = %d", n)
	}
	array := r.array().Stats().Bytes
	row("array", "%s bits (%s)%s, %.4g%% in use", grouped(stats.Bits), bytesText(array), k, 100*stats.Saturation)
	row("fill", "%s", s.shown(fillPicture(r.fill)))
	if c := r.corrected(); c != nil {
		counts := c.Counts()
		row("reports", "%s of %s (%s)", grouped(counts.Held), grouped(counts.Room), bytesText(stats.Bytes-array))
	}
	row("false positive rate", "%s", ratesText(stats))
	if r.probed > 0 {
		rate, deviation := r.rates()
		row("measured", s.shown("%s ± %.2g%%: %s of %s random keys"), rateText(rate), 100*deviation, grouped(r.wrong), grouped(r.probed))
	}
}

// ratesText writes the rate that a filter has, and the one asked for if it is known.
func ratesText(s statsJSON) string {
	now := rateText(s.Predicted) + " now"
	if s.Asked == 0 {
		return now
	}
	return now + ", " + rateText(s.Asked) + " asked for"
}

// corrected is a filter with reports.
type corrected interface {
	Filter() bloomery.Hashed
	Counts() compose.CorrectedStats
}

// corrected returns the filter if it has reports, else nil.
func (r *inspected) corrected() corrected {
	c, _ := r.filter.Hashed.(corrected)
	return c
}

// array returns the filter without its reports.
func (r *inspected) array() bloomery.Hashed {
	if c := r.corrected(); c != nil {
		return c.Filter()
	}
	return r.filter.Hashed
}

// k returns the number of bits that a key sets, 0 for kinds where it sets none.
func (r *inspected) k() int {
	if f, ok := r.array().(interface{ Shape() sizing.Shape }); ok {
		return f.Shape().K
	}
	return 0
}

func (r *inspected) json() inspectJSON {
	i := r.info
	j := inspectJSON{
		File: r.name, Form: i.Form.String(), Kind: kindText(i), Hash: i.Hash.String(), Hashes: r.k(),
		Size: r.fileSize, Plain: i.Size, Identity: fmt.Sprintf("%016x", i.Identity), Fill: r.fill, Damage: []damageJSON{},
	}
	if i.Hash == 0 {
		j.Seed = strconv.FormatUint(i.Check, 10) // a string: JavaScript has 53 bits
	} else {
		j.Check = fmt.Sprintf("%016x", i.Check)
		if f, ok := functionOf(i); ok {
			j.Function = f.Name
		}
	}
	if r.filter.Hashed != nil {
		stats := statsOf(r.filter.Hashed)
		j.Stats = &stats
	}
	if c := r.corrected(); c != nil {
		held := c.Counts().Held
		j.Reports = &held
	}
	if r.probed > 0 {
		rate, deviation := r.rates()
		j.Probe = &probeJSON{r.probed, r.wrong, rate, deviation}
	}
	for _, d := range i.Damage {
		j.Damage = append(j.Damage, damageJSON(d))
	}
	j.Verdict, _ = r.verdict()
	j.Bits = bitText(r.bits, r.bitCount, r.bitCount)
	return j
}

// fillColumns is how many parts of the payload the picture has.
const fillColumns = 48

// fillOf returns the share of set bits in equal parts of the payload.
func fillOf(f io.Reader, info codec.Info) ([]float64, error) {
	if info.Form == codec.FormTransport {
		f = codec.NewReader(f)
	}
	header := int64(info.Size - info.Payload)
	// The header comes first; the table of checksums is behind the payload.
	if header < payloadOffset {
		return nil, errors.New("no header")
	}
	if _, err := io.CopyN(io.Discard, f, payloadOffset); err != nil {
		return nil, err
	}
	columns := int(min(max(info.Payload/8, 1), fillColumns))
	fill := make([]float64, columns)
	buf := make([]byte, 64<<10)
	for i := range fill {
		from, to := info.Payload*uint64(i)/uint64(columns)&^7, info.Payload*uint64(i+1)/uint64(columns)&^7
		if i == columns-1 {
			to = info.Payload
		}
		ones := 0
		for at := from; at < to; {
			part := buf[:min(uint64(len(buf)), to-at)]
			if _, err := io.ReadFull(f, part); err != nil {
				return nil, err
			}
			ones += onesIn(part)
			at += uint64(len(part))
		}
		fill[i] = float64(ones) / float64(max(8*(to-from), 1))
	}
	return fill, nil
}

// onesIn counts set bits.
func onesIn(b []byte) (n int) {
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for _, x := range b {
		n += bits.OnesCount8(x)
	}
	return n
}

// fillPicture draws a share from 0 to 1 for each part as a column.
func fillPicture(fill []float64) string {
	columns := []rune(" ▁▂▃▄▅▆▇█")
	var b strings.Builder
	b.WriteByte('[')
	for _, x := range fill {
		i := int(x*float64(len(columns)-1) + 0.5)
		if x > 0 {
			i = max(i, 1) // a little is not nothing
		}
		b.WriteRune(columns[i])
	}
	b.WriteByte(']')
	return b.String()
}
