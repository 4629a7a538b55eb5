package filter_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestFilterRefusals gives every option what it does not take, and every command what
// it is not for: an error that names the option and the limit, and nothing changed.
func TestFilterRefusals(t *testing.T) {
	b := newBench(t, 4<<20)
	for _, line := range []string{
		"FILTER.CREATE b bloom CAPACITY 1000", "FILTER.CREATE c cuckoo CAPACITY 1000", "FILTER.CREATE small cuckoo CAPACITY 4 ERROR 0.5",
		"FILTER.CREATE w window CAPACITY 100", "FILTER.ADD b a", "FILTER.ADD c a", "SET s 1", "BF.ADD bf a", "CMS.INITBYDIM m 10 3",
	} {
		if got := b.Line(line); strings.HasPrefix(got, "-") {
			t.Fatalf("%s = %s", line, got)
		}
	}
	before, bytes := string(commandtest.Snapshot(b.State)), b.State.Bytes()
	for _, tt := range []struct {
		line string
		has  []string // words of the error
	}{
		{"FILTER.CREATE x", []string{"wrong number of arguments"}},
		{"FILTER.CREATE x nokind", []string{"unknown kind 'nokind'", "bloom, standard", "quorum"}},
		{"FILTER.CREATE x quorum CAPACITY 1000 MEMBERS 255 NEED 2 PARTS 2048", []string{"2048 parts of 255", "522240 filters", "4096 at most"}},
		{"FILTER.CREATE x fuse8", []string{"fuse8", "FILTER.LOAD"}},
		{"FILTER.CREATE x ribbon", []string{"ribbon", "FILTER.LOAD"}},
		{"FILTER.CREATE x bloom CAPACITY 0", []string{"CAPACITY", "1 to 1099511627776"}},
		{"FILTER.CREATE x bloom CAPACITY -5", []string{"CAPACITY", "1 to 1099511627776"}},
		{"FILTER.CREATE x bloom CAPACITY 1099511627777", []string{"CAPACITY", "1099511627776"}},
		{"FILTER.CREATE x bloom CAPACITY 99999999999999999999", []string{"CAPACITY"}},
		{"FILTER.CREATE x bloom CAPACITY nan", []string{"CAPACITY"}},
		{"FILTER.CREATE x bloom CAPACITY 1.5", []string{"CAPACITY", "1000, 1e6, 10M"}},
		{"FILTER.CREATE x bloom CAPACITY 0x10", []string{"CAPACITY"}},
		{"FILTER.CREATE x bloom CAPACITY 1e400", []string{"CAPACITY"}},
		{"FILTER.CREATE x bloom CAPACITY inf", []string{"CAPACITY"}},
		{"FILTER.CREATE x bloom CAPACITY 1MB", []string{"CAPACITY"}},
		{"FILTER.CREATE x bloom CAPACITY 2T", []string{"CAPACITY", "1 to 1099511627776"}},
		{"FILTER.CREATE x bloom CAPACITY " + strings.Repeat("1", 1000), []string{"CAPACITY"}},
		{"FILTER.CREATE x bloom CAPACITY", []string{"CAPACITY needs a value"}},
		{"FILTER.CREATE x bloom CAPACITY 5 CAPACITY 6", []string{"CAPACITY is there twice"}},
		{"FILTER.CREATE x bloom ERROR 0", []string{"ERROR", "more than 0 and less than 1"}},
		{"FILTER.CREATE x bloom ERROR 1", []string{"ERROR", "less than 1"}},
		{"FILTER.CREATE x bloom ERROR -0.1", []string{"ERROR"}},
		{"FILTER.CREATE x bloom ERROR nan", []string{"ERROR"}},
		{"FILTER.CREATE x bloom ERROR inf", []string{"ERROR"}},
		{"FILTER.CREATE x bloom ERROR 0x1p-4", []string{"ERROR"}},
		{"FILTER.CREATE x bloom ERROR 100%", []string{"ERROR", "0.1%, 1in1000"}},
		{"FILTER.CREATE x bloom ERROR x", []string{"ERROR"}},
		{"FILTER.CREATE x bloom ERROR 1e-9", []string{"1e-06"}},
		{"FILTER.CREATE x cuckoo ERROR 1e-12", []string{"2e-09"}},
		{"FILTER.CREATE x bloom BITS 0", []string{"BITS", "1 to 1024"}},
		{"FILTER.CREATE x bloom BITS nan", []string{"BITS"}},
		{"FILTER.CREATE x bloom BITS 1025", []string{"BITS", "1024"}},
		{"FILTER.CREATE x bloom BITS 10 ERROR 0.1", []string{"BITS and ERROR"}},
		{"FILTER.CREATE x window BITS 10", []string{"BITS is not for kind window"}},
		{"FILTER.CREATE x quorum BITS 10", []string{"BITS is not for kind quorum"}},
		{"FILTER.CREATE x growing BITS 10", []string{"growing", "BitsPerKey"}},
		{"FILTER.CREATE x bloom HEADROOM 1001", []string{"HEADROOM", "0 to 1000"}},
		{"FILTER.CREATE x bloom HEADROOM 1.5%", []string{"HEADROOM", "50, 50%"}},
		{"FILTER.CREATE x bloom HEADROOM -1", []string{"HEADROOM"}},
		{"FILTER.CREATE x bloom SEED -1", []string{"SEED", "18446744073709551615"}},
		{"FILTER.CREATE x bloom SEED 18446744073709551616", []string{"SEED"}},
		{"FILTER.CREATE x bloom SEED 1 RANDOM", []string{"SEED and RANDOM"}},
		{"FILTER.CREATE x bloom KEYED k SEED 1", []string{"KEYED and SEED"}},
		{"FILTER.CREATE x bloom KEYED k", []string{"KEYED", "'k'"}},
		{"FILTER.CREATE x bloom PARTS 0", []string{"PARTS", "1 to 4096"}},
		{"FILTER.CREATE x bloom PARTS 3", []string{"PARTS", "power of two"}},
		{"FILTER.CREATE x bloom PARTS 8192", []string{"PARTS", "4096"}},
		{"FILTER.CREATE x bloom PARTS 1 CAPACITY 1000000000", []string{"PARTS 1", "268435456 bytes"}},
		{"FILTER.CREATE x bloom SPAN 1h", []string{"SPAN is for kind window, not for bloom"}},
		{"FILTER.CREATE x bloom MEMBERS 3", []string{"MEMBERS is for kind quorum"}},
		{"FILTER.CREATE x window SPAN 0s", []string{"SPAN", "1s to 3650d"}},
		{"FILTER.CREATE x window SPAN 1e9h", []string{"SPAN"}},
		{"FILTER.CREATE x window SPAN day", []string{"SPAN"}},
		{"FILTER.CREATE x window SPAN 24", []string{"SPAN", "90s, 10m, 1h30m, 7d"}},
		{"FILTER.CREATE x window SPAN -1d", []string{"SPAN"}},
		{"FILTER.CREATE x window GENERATIONS 64", []string{"GENERATIONS", "1 to 63"}},
		{"FILTER.CREATE x window BURST 0.5", []string{"BURST", "1 to 63"}},
		{"FILTER.CREATE x window GENERATIONS 4 BURST 5", []string{"BURST", "GENERATIONS, which is 4"}},
		{"FILTER.CREATE x quorum MEMBERS 256", []string{"MEMBERS", "1 to 255"}},
		{"FILTER.CREATE x quorum MEMBERS 3 NEED 4", []string{"NEED", "MEMBERS, which is 3"}},
		{"FILTER.CREATE x bloom SLA 0", []string{"SLA", "1 to 1000000000"}},
		{"FILTER.CREATE x bloom SLA 2000s", []string{"SLA", "500us, 2ms"}},
		{"FILTER.CREATE x bloom SLA 10ns", []string{"SLA"}},
		{"FILTER.CREATE x bloom BUDGET -1MB", []string{"BUDGET", "64KiB, 2GB"}},
		{"FILTER.CREATE x bloom BUDGET 0", []string{"BUDGET", "1 to 1125899906842624"}},
		{"FILTER.CREATE x bloom WHAT 1", []string{"'WHAT' is not an option"}},
		{"FILTER.CREATE x bloom LIKE none", []string{"LIKE"}},
		{"FILTER.CREATE x bloom LIKE s", []string{"WRONGTYPE"}},
		{"FILTER.CREATE x bloom CAPACITY 1000000000", []string{"OOM", "bytes, 'maxmemory' leaves"}},
		{"FILTER.CREATE b bloom", []string{"item exists"}},
		{"FILTER.CREATE s bloom", []string{"WRONGTYPE"}},
		{"FILTER.ADD none a", []string{"not found"}},
		{"FILTER.ADD s a", []string{"WRONGTYPE"}},
		{"FILTER.ADD bf a", []string{"WRONGTYPE"}},
		{"FILTER.ADD b", []string{"wrong number of arguments"}},
		{"FILTER.DEL b a", []string{"FILTER.DEL is not for kind bloom", "cuckoo"}},
		{"FILTER.COUNT b a", []string{"FILTER.COUNT is not for kind bloom"}},
		{"FILTER.ADDHASH b x", []string{"a hash is a number"}},
		{"FILTER.ADDHASH b -1", []string{"a hash is a number"}},
		{"FILTER.ADDHASH b 0x", []string{"a hash is a number"}},
		{"FILTER.HASHASH b +1", []string{"a hash is a number"}},
		{"FILTER.INFO b TEXT", []string{"syntax"}},
		{"FILTER.INFO none", []string{"not found"}},
		{"FILTER.INFO s", []string{"WRONGTYPE"}},
		{"FILTER.CARD s", []string{"WRONGTYPE"}},
		{"FILTER.CLEAR none", []string{"not found"}},
		{"FILTER.CLEAR s", []string{"WRONGTYPE"}},
		{"FILTER.UNION x none", []string{"not found"}},
		{"FILTER.UNION x b c", []string{"cuckoo", "cannot be united"}},
		{"FILTER.UNION x w", []string{"window cannot be united"}},
		{"FILTER.INTERSECT b b", []string{"must not be one of the sources"}},
		{"FILTER.SIMILAR b c", []string{"cannot be united"}},
		{"FILTER.SIMILAR b none", []string{"not found"}},
		{"FILTER.DUMP b x", []string{"cursor"}},
		{"FILTER.DUMP b -1", []string{"cursor"}},
		{"FILTER.DUMP b 99", []string{"cursor"}},
		{"FILTER.DUMP none 0", []string{"not found"}},
		{"FILTER.LOAD x 1 data", []string{"corrupt"}},
		{"FILTER.LOAD x 1 bloompak", []string{"transport form, want the plain form"}},
		{"FILTER.LOAD x 1 bloomsec", []string{"sealed"}},
		{"FILTER.LOAD x 0 data", []string{"cursor"}},
		{"FILTER.LOAD x 1 data VERSION 0", []string{"VERSION", "at least 1"}},
		{"FILTER.LOAD x 1 data VERSION nan", []string{"VERSION"}},
		{"FILTER.LOAD x 1 data WHAT 1", []string{"syntax"}},
		{"FILTER.PLAN 0 0.1", []string{"keys", "at least 1"}},
		{"FILTER.PLAN 10 nan", []string{"error-rate"}},
		{"FILTER.PLAN 10 0.1 NEEDS wings", []string{"NEEDS", "deletes"}},
		{"FILTER.WHERE *", []string{"wrong number of arguments"}},
	} {
		got := b.Line(tt.line)
		for _, word := range tt.has {
			if !strings.HasPrefix(got, "-") || !strings.Contains(got, word) {
				t.Errorf("%s = %s, want an error with %q", tt.line, got, word)
			}
		}
		if string(commandtest.Snapshot(b.State)) != before || b.State.Bytes() != bytes {
			t.Fatalf("%s has changed something", tt.line)
		}
	}
	if n := b.Engine.Budget.Used() - b.State.Bytes(); n > 64<<10 {
		t.Errorf("%d bytes stay set aside", n)
	}
}

// TestFilterFull asks that an item which a filter has no room for is answered with an
// error in its place, in one part and in several, and that what was there stays.
func TestFilterFull(t *testing.T) {
	for _, parts := range []string{"1", "2"} {
		b := newBench(t, 1<<30)
		b.Do("FILTER.CREATE", "c", "cuckoo", "CAPACITY", "8", "ERROR", "0.01", "PARTS", parts)
		var added []string
		full := false
		for i := range 200 {
			item := "item" + strings.Repeat("x", i)
			switch got := b.Do("FILTER.ADD", "c", item); {
			case strings.Contains(got, "filter is full"):
				full = true
			case strings.HasPrefix(got, "["):
				added = append(added, item)
			default:
				t.Fatalf("ADD = %s", got)
			}
		}
		if !full {
			t.Error("200 items in a filter for 8")
		}
		if got := b.Do(append([]string{"FILTER.HAS", "c"}, added...)...); strings.Contains(got, "false") {
			t.Errorf("an item that was added is denied: %s", got)
		}
		b.Crash(t)
	}
}

// TestFilterMemory asks that a filter which grows is refused more items when memory
// is used up, that those it has stay, and that its memory is back at once on DEL.
func TestFilterMemory(t *testing.T) {
	for _, kind := range []string{"scalable", "growing"} {
		b := newBench(t, 2<<20)
		b.Do("FILTER.CREATE", "f", kind, "CAPACITY", "1000")
		refused, n := "", 0
		for refused == "" && n < 1000 {
			words := []string{"FILTER.ADD", "f"}
			for i := range 1000 {
				words = append(words, string(rune('a'+n%26))+strings.Repeat("y", n/26)+"/"+strings.Repeat("z", i%40)+string(rune('A'+i%26))+string(rune('A'+i/40)))
			}
			if got := b.Do(words...); strings.Contains(got, "OOM") {
				refused = got
			}
			n++
		}
		if refused == "" {
			t.Fatalf("%s: never refused", kind)
		}
		if got := b.State.Bytes(); got > 2<<20 {
			t.Errorf("%s: %d bytes in use, limit %d", kind, got, 2<<20)
		}
		b.Do("DEL", "f")
		if got := b.State.Bytes(); got != 0 {
			t.Errorf("%s: %d bytes are left after DEL", kind, got)
		}
	}
}
