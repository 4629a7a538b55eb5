package filter_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// rows returns the value of a key in the rows of a reply.
func rows(r *answer.Reply, key string) (values []string) {
	for i := range r.Elems {
		values = append(values, commandtest.Show(*entryOf(&r.Elems[i], key)))
	}
	return values
}

// entryOf returns the value of a key in a map.
func entryOf(r *answer.Reply, key string) *answer.Reply {
	for i := 0; i+1 < len(r.Elems); i += 2 {
		if r.Elems[i].Text == key {
			return &r.Elems[i+1]
		}
	}
	return &answer.Reply{}
}

// ask runs a command of words without blanks and returns its reply.
func (b *bench) ask(t *testing.T, line string) *answer.Reply {
	t.Helper()
	var args [][]byte
	for word := range strings.FieldsSeq(line) {
		args = append(args, []byte(word))
	}
	r := b.Exec(args)[0]
	if r.Failed() {
		t.Fatalf("%s = %s", line, r.Text)
	}
	return &r
}

// TestFilterList lists filters of all families, sorted and a page at a time, and
// leaves no trace of that in their health.
func TestFilterList(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("SET text x")
	b.Line("BF.RESERVE bf 0.01 100")
	b.Line("CF.RESERVE cf 100")
	b.Line("FILTER.CREATE big bloom CAPACITY 100000")
	b.Line("FILTER.CREATE full cuckoo CAPACITY 94")
	for i := range 95 {
		b.Line(fmt.Sprint("FILTER.ADD full ", i))
	}
	list := func(options string) string {
		t.Helper()
		r := b.ask(t, "FILTER.LIST "+options)
		return commandtest.Show(*entryOf(r, "total")) + " " + strings.Join(rows(entryOf(r, "filters"), "key"), " ")
	}
	for _, c := range []struct{ options, want string }{
		{"", `:4 "bf" "big" "cf" "full"`},
		{"DESC", `:4 "full" "cf" "big" "bf"`},
		{"MATCH *f*", `:3 "bf" "cf" "full"`},
		{"sort verdict", `:4 "full" "bf" "big" "cf"`},
		{"SORT fill DESC COUNT 1", `:4 "full"`},
		{"SORT bytes DESC COUNT 1", `:4 "big"`},
		{"SORT kind", `:4 "bf" "big" "cf" "full"`},
		{"OFFSET 1 COUNT 2", `:4 "big" "cf"`},
		{"OFFSET 4", `:4 `},
		{"COUNT 0", `:4 `},
	} {
		if got := list(c.options); got != c.want {
			t.Errorf("FILTER.LIST %s = %s, want %s", c.options, got, c.want)
		}
	}
	row := &entryOf(b.ask(t, "FILTER.LIST MATCH full"), "filters").Elems[0]
	for key, want := range map[string]string{"kind": `"cuckoo"`, "items": ":95", "items_exact": ":1", "verdict": `"Resize"`, "probed_state": `"too few probes"`, "created": ":1700000000"} {
		if got := commandtest.Show(*entryOf(row, key)); got != want {
			t.Errorf("%s = %s, want %s", key, got, want)
		}
	}
	if got := b.infoField("health_probes"); got != "0" {
		t.Errorf("FILTER.LIST has made %s probes", got)
	}
	for _, bad := range []string{"SORT", "SORT nosuch", "COUNT 1001", "COUNT -1", "COUNT x", "OFFSET -1", "OFFSET 99999999999", "LIMIT 1", "MATCH", "1"} {
		if got := b.Line("FILTER.LIST " + bad); !strings.HasPrefix(got, "-ERR ") {
			t.Errorf("FILTER.LIST %s = %s", bad, got)
		}
	}
}

// TestFilterListMemory asks that a list that there is no memory for is refused, and
// that nothing stays counted for it.
func TestFilterListMemory(t *testing.T) {
	b := newBench(t, 1<<20)
	for i := 0; b.Line(fmt.Sprintf("FILTER.CREATE %d bloom CAPACITY 10", i)) == "+OK"; i++ {
	}
	if got := b.Line("FILTER.LIST COUNT 1000"); !strings.HasPrefix(got, "-OOM") {
		t.Errorf("a list without memory = %.50s", got)
	}
	b.Line("PING")
	if held := b.Engine.Budget.Clients(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// TestFilterLayers describes what filters of every kind consist of: the sum of the
// layers is the filter.
func TestFilterLayers(t *testing.T) {
	b := newBench(t, 1<<30)
	names := []string{"bf", "cf"}
	b.Line("BF.RESERVE bf 0.01 100")
	b.Line("CF.RESERVE cf 100")
	for _, k := range codec.Kinds() {
		if !k.Features.Static {
			b.Line("FILTER.CREATE " + k.Name + " " + k.Name + " CAPACITY 100")
			names = append(names, k.Name)
		}
	}
	for i := range 300 {
		b.Line(fmt.Sprint("BF.ADD bf ", i))
		b.Line(fmt.Sprint("CF.ADD cf ", i))
		b.Line(fmt.Sprint("FILTER.ADD scalable ", i))
		b.Line(fmt.Sprint("FILTER.ADD window ", i))
	}
	for _, name := range names {
		r := b.ask(t, "FILTER.LAYERS "+name)
		if len(r.Elems) == 0 {
			t.Errorf("%s has no layers", name)
		}
		for i := range r.Elems {
			row := &r.Elems[i]
			if fill := double(entryOf(row, "saturation")); !(fill >= 0 && fill <= 1) {
				t.Errorf("%s: layer %d is %v full", name, i, fill)
			}
			if predicted := double(entryOf(row, "predicted")); !(predicted >= 0 && predicted <= 1) {
				t.Errorf("%s: layer %d has the rate %v", name, i, predicted)
			}
		}
		cells := entryOf(b.ask(t, "FILTER.DENSITY "+name+" 16"), "cells")
		if len(cells.Elems) != 16 {
			t.Errorf("%s: %d cells", name, len(cells.Elems))
		}
	}
	sum := func(name, key string) (n int64) {
		r := b.ask(t, "FILTER.LAYERS "+name)
		for i := range r.Elems {
			n += entryOf(&r.Elems[i], key).N
		}
		return n
	}
	if got := len(b.ask(t, "FILTER.LAYERS scalable").Elems); got < 2 || sum("scalable", "items") < 290 {
		t.Errorf("scalable has %d layers with %d items", got, sum("scalable", "items"))
	}
	if got := len(b.ask(t, "FILTER.LAYERS bf").Elems); got < 2 || sum("bf", "items") < 290 {
		t.Errorf("bf has %d layers with %d items", got, sum("bf", "items"))
	}
	if got := len(b.ask(t, "FILTER.LAYERS cf").Elems); got < 2 || sum("cf", "items") != 300 {
		t.Errorf("cf has %d sub-filters with %d items", got, sum("cf", "items"))
	}
	if got := rows(b.ask(t, "FILTER.LAYERS window"), "generation"); len(got) != 7 {
		t.Errorf("window has the generations %q", got)
	}
	if n := sum("window", "items"); n < 250 || n > 350 { // estimated from the bits
		t.Errorf("window has %d items in its generations", n)
	}
	for _, bad := range []string{"FILTER.LAYERS nobody", "FILTER.DENSITY nobody 4", "FILTER.DENSITY bf 0", "FILTER.DENSITY bf 4097", "FILTER.DENSITY bf x"} {
		if got := b.Line(bad); !strings.HasPrefix(got, "-ERR ") {
			t.Errorf("%s = %s", bad, got)
		}
	}
	b.Line("SET text x")
	for _, bad := range []string{"FILTER.LAYERS text", "FILTER.DENSITY text 4"} {
		if got := b.Line(bad); !strings.HasPrefix(got, "-WRONGTYPE") {
			t.Errorf("%s = %s", bad, got)
		}
	}
}

func double(r *answer.Reply) float64 { return math.Float64frombits(uint64(r.N)) }

// TestFilterDensity holds the density of filters to the share of bits that are set,
// for small and large arrays, and for several parts.
func TestFilterDensity(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, c := range []struct {
		create string
		keys   int
	}{
		{"small bloom CAPACITY 1000", 1000}, {"large bloom CAPACITY 200000", 200_000}, {"parts bloom CAPACITY 200000 PARTS 8", 200_000}, {"many bloom CAPACITY 10000 PARTS 256", 10_000},
	} {
		name, _, _ := strings.Cut(c.create, " ")
		b.Line("FILTER.CREATE " + c.create)
		for at := 0; at < c.keys; at += 1000 {
			args := [][]byte{[]byte("FILTER.ADD"), []byte(name)}
			for i := range 1000 {
				args = append(args, fmt.Appendf(nil, "%d", at+i))
			}
			b.Exec(args)
		}
		r := b.ask(t, "FILTER.DENSITY "+name+" 64")
		if got := commandtest.Show(*entryOf(r, "unit")); got != `"bits"` {
			t.Errorf("%s: unit %s", name, got)
		}
		for _, array := range entryOf(r, "arrays").Elems {
			if array.N != 0 {
				t.Fatalf("%s: a filter of one array has one numbered %d", name, array.N)
			}
		}
		mean, cells := 0.0, entryOf(r, "cells").Elems
		for i := range cells {
			mean += double(&cells[i]) / float64(len(cells))
		}
		want := double(entryOf(b.ask(t, "FILTER.INFO "+name), "saturation"))
		// At most 256 KiB are looked at; a block of 512 bits, half of them set, has a
		// deviation of about 0.03, so the mean of 1,000 blocks one of 0.001.
		if math.Abs(mean-want) > 0.02 {
			t.Errorf("%s: the mean of %d cells is %v, saturation %v", name, len(cells), mean, want)
		}
	}

	// Each layer has its cells, as many as it has of the bytes, and the share of bits that it says.
	b.Line("BF.RESERVE grown 0.01 1000")
	for i := range 2000 {
		b.Line(fmt.Sprint("BF.ADD grown ", i))
	}
	r, layers := b.ask(t, "FILTER.DENSITY grown 256"), b.ask(t, "FILTER.LAYERS grown").Elems
	cells, sums := make([]float64, len(layers)), make([]float64, len(layers))
	for i, array := range entryOf(r, "arrays").Elems {
		cells[array.N]++
		sums[array.N] += double(&entryOf(r, "cells").Elems[i])
	}
	total := 0.0
	for i := range layers {
		total += float64(entryOf(&layers[i], "bytes").N)
	}
	for i := range layers {
		want, fill := 256*float64(entryOf(&layers[i], "bytes").N)/total, double(entryOf(&layers[i], "saturation"))
		if len(layers) < 2 || math.Abs(cells[i]-want) > 1 || math.Abs(sums[i]/cells[i]-fill) > 0.02 {
			t.Errorf("layer %d of %d: %v cells, want %.1f, %.3f full, want %.3f", i, len(layers), cells[i], want, sums[i]/cells[i], fill)
		}
	}
}
