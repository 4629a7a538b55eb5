package keys_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestSketchesComeBackFromDumps dumps sketches, also large ones with many items, and
// restores them: they answer as before, and dump the same bytes.
func TestSketchesComeBackFromDumps(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, line := range []string{
		"CMS.INITBYDIM m 100000 7", "TOPK.RESERVE k 5000 20000 4 0.9", "TDIGEST.CREATE d COMPRESSION 20000", "TDIGEST.CREATE one", "TDIGEST.ADD one 3.5",
		"TDIGEST.CREATE none",
	} {
		if got := b.Line(line); got != "+OK" {
			t.Fatalf("%s = %s", line, got)
		}
	}
	for i := range 300 {
		incr, add, values := []string{"CMS.INCRBY", "m"}, []string{"TOPK.ADD", "k"}, []string{"TDIGEST.ADD", "d"}
		for j := range 200 {
			n := i*200 + j
			incr = append(incr, fmt.Sprint("item", n), fmt.Sprint(n%9))
			add = append(add, fmt.Sprint(strings.Repeat("x", n%50), n%6000))
			values = append(values, fmt.Sprint(float64(n)/7))
		}
		b.Do(incr...)
		b.Do(add...)
		b.Do(values...)
	}
	for key, asks := range map[string][]string{
		"m":    {"CMS.INFO %s", "CMS.QUERY %s item1 item77 item59999 none"},
		"k":    {"TOPK.INFO %s", "TOPK.LIST %s WITHCOUNT", "TOPK.COUNT %s x1 none"},
		"d":    {"TDIGEST.INFO %s", "TDIGEST.QUANTILE %s 0 0.001 0.3 0.9999 1", "TDIGEST.RANK %s 17 4000"},
		"one":  {"TDIGEST.INFO %s", "TDIGEST.MIN %s", "TDIGEST.BYRANK %s 0 1"},
		"none": {"TDIGEST.INFO %s", "TDIGEST.MIN %s"},
	} {
		dump := b.Exec([][]byte{[]byte("DUMP"), []byte(key)})[0].Text
		if got := b.Do("RESTORE", "again", "0", dump, "REPLACE"); got != "+OK" {
			t.Fatalf("RESTORE of %s = %s", key, got)
		}
		for _, ask := range asks {
			if got, want := b.Line(fmt.Sprintf(ask, "again")), b.Line(fmt.Sprintf(ask, key)); got != want {
				t.Errorf("%s restored: %s\n got %.200s\nwant %.200s", key, ask, got, want)
			}
		}
		if again := b.Exec([][]byte{[]byte("DUMP"), []byte("again")})[0].Text; again != dump {
			t.Errorf("%s restored has another dump", key)
		}
	}
	b.Close(t)
}

// payload makes the payload of a sketch from its fields.
func payload(name string, fields ...any) string {
	w := rdb.NewWriter(rdb.ModuleID(name, 0), 0)
	for _, f := range fields {
		switch v := f.(type) {
		case int:
			w.Uint(uint64(v))
		case uint64:
			w.Uint(v)
		case float64:
			w.Double(v)
		case string:
			w.Data([]byte(v))
		}
	}
	return string(w.Payload())
}

// TestHostileSketches restores payloads with right checksums and wrong contents: all
// are refused with RedisBloom's text, nothing is left behind, and little memory is
// asked for.
func TestHostileSketches(t *testing.T) {
	const huge = uint64(math.MaxUint64)
	cells := func(n int) string { return strings.Repeat("\x01", n) }
	slot := string(binary.LittleEndian.AppendUint64(make([]byte, 16), 3))
	b := commandtest.New(t, 64<<20)
	for i, p := range []string{
		payload("CMSk-TYPE", 0, 1, 0, ""),
		payload("CMSk-TYPE", 2, 0, 0, ""),
		payload("CMSk-TYPE", 2, 1, 0, cells(7)),
		payload("CMSk-TYPE", 2, 1, 0, cells(9)),
		payload("CMSk-TYPE", huge, huge, 0, cells(4)),
		payload("CMSk-TYPE", uint64(1)<<62, 4, 0, cells(16)),
		payload("CMSk-TYPE", 2, 1, 0),
		payload("CMSk-TYPE", 2.0, 1, 0, cells(8)),
		payload("CMSk-TYPE", 2, 1, 0, cells(8), 1),
		payload("TopK-TYPE", 0, 1, 1, 0.9, cells(8), ""),
		payload("TopK-TYPE", 1, 0, 1, 0.9, "", slot, "a\x00"),
		payload("TopK-TYPE", 1, 1, 1, 0.9, cells(8), slot[:23], "a\x00"),        // this crashes RedisBloom
		payload("TopK-TYPE", 1, 1, 1, 0.9, cells(8), slot+slot, "a\x00"),        // and this
		payload("TopK-TYPE", huge, 1, 1, 0.9, cells(8), slot, "a\x00"),          // and this
		payload("TopK-TYPE", uint64(1<<32), 1, 1, 0.9, cells(8), slot, "a\x00"), // does not fit into 32 bits
		payload("TopK-TYPE", 1, 1, 1, 0.9, cells(8), slot, "a"),                 // without its end
		payload("TopK-TYPE", 1, 1, 1, 0.9, cells(8), slot, ""),                  // the same
		payload("TopK-TYPE", 1, 1, 1, 0.9, cells(8), slot),                      // no item
		payload("TopK-TYPE", 2, 1, 1, 0.9, cells(8), slot),                      // a slot too few
		payload("TopK-TYPE", 1, 1, 1, 1.5, cells(8), slot, "a\x00"),             // decay
		payload("TopK-TYPE", 1, 1, 1, math.NaN(), cells(8), slot, "a\x00"),      // decay
		payload("TopK-TYPE", 1, 1, 1, 0.9, cells(8), slot, strings.Repeat("x", 300<<10)+"\x00"),
		payload("TDIS-TYPE", 1.0, 1.0, 2.0, 16, 17, 0, 1, 17.0, 0.0),
		payload("TDIS-TYPE", 1.0, 1.0, 2.0, huge, huge, 0, 1, 1.0, 0.0),
		payload("TDIS-TYPE", 0.0, 1.0, 2.0, 10, 0, 0, 0, 0.0, 0.0),
		payload("TDIS-TYPE", math.NaN(), 1.0, 2.0, 16, 0, 0, 0, 0.0, 0.0),
		payload("TDIS-TYPE", 1e18, 1.0, 2.0, uint64(6e18)+10, 0, 0, 0, 0.0, 0.0),
		payload("TDIS-TYPE", 1.0, 1.0, 2.0, 16, 1, 0, 0, 1.0, 0.0, 1.5, -1.0),
		payload("TDIS-TYPE", 1.0, 1.0, 2.0, 16, 1, 0, 0, 1.0, 0.0, 1.5, 0.5),
		payload("TDIS-TYPE", 1.0, 1.0, 2.0, 16, 1, 0, 0, 7.0, 0.0, 1.5, 1.0),
		payload("TDIS-TYPE", 1.0, 1.0, 2.0, 16, 1, 0, 0, 1.0, 0.0, 1.5),
		payload("TDIS-TYPE", 1.0, 1.0, 2.0, 16, 0, 5, 0, 0.0, 5.0),
	} {
		if got := b.Do("RESTORE", "k", "0", p); got != "-ERR Bad data format" {
			t.Errorf("payload %d: RESTORE = %s", i, got)
		}
	}
	// Right, and larger than the memory there is.
	for i, p := range []string{
		payload("TDIS-TYPE", 1e6, 1.0, 2.0, 6_000_010, 0, 0, 0, 0.0, 0.0),
	} {
		if got := b.Do("RESTORE", "k", "0", p); !strings.HasPrefix(got, "-OOM") {
			t.Errorf("payload %d, too large: RESTORE = %s", i, got)
		}
	}
	if b.State.Names.Len() != 0 || b.State.Bytes() != 0 {
		t.Errorf("%d names and %d bytes are left", b.State.Names.Len(), b.State.Bytes())
	}
	for _, p := range []string{
		payload("CMSk-TYPE", 2, 1, 5, cells(8)),
		payload("TopK-TYPE", 1, 1, 1, 0.9, cells(8), slot, "a\x00"),
		payload("TDIS-TYPE", 1.0, 1.0, 2.0, 16, 1, 0, 0, 2.0, 0.0, 1.5, 2.0),
	} {
		if got := b.Do("RESTORE", "k", "0", p, "REPLACE"); got != "+OK" {
			t.Errorf("a right payload: RESTORE = %s", got)
		}
	}
}
