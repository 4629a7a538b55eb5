package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
)

// besides is a door that calls first before the first record that folds a part.
type besides struct {
	door.Door
	first func()
}

// Do implements door.Door.
func (d *besides) Do(ops []*door.Op) {
	if f := d.first; f != nil && ops[0].Record.Op() == store.OpFilterFoldOf {
		d.first = nil
		f()
	}
	d.Door.Do(ops)
}

// TestFoldsAtOnce folds a filter while another client does, or makes it grow: whoever is slower finds what the other one
// has left, and the filter keeps the rate that was asked for.
func TestFoldsAtOnce(t *testing.T) {
	for _, parts := range []int{1, 4} {
		for _, fold := range []string{"FILTER.FOLD k", "FILTER.FOLD k FIT"} {
			for _, other := range []string{"FILTER.FOLD k", "FILTER.FOLD k FIT", "FILTER.GROW k"} {
				name := fmt.Sprintf("%s beside %s, %d parts", fold, other, parts)
				b := newBench(t, 1<<30)
				d := &besides{Door: b.door}
				b.engine = engine.New(engine.Config{
					Commands: command.All(), State: b.state, Door: d, Keeper: b.door.Door, Host: b, MaxMemory: 1 << 30,
					Clock: b.clock, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
				})
				b.line(fmt.Sprint("FILTER.CREATE k bloom CAPACITY 100000 ERROR 0.01 PARTS ", parts))
				for i := range 84 { // 42,000: one fold fits, two do not
					b.do(append([]string{"FILTER.ADD", "k"}, someWords("{items}", i)...)...)
				}
				second, got := b.connect(), ""
				d.first = func() { got = second.line(other) }
				first := b.line(fold)
				entry := b.state.Names.Lookup([]byte("k"), 0)
				asked, predicted := 0.0, 0.0
				for _, p := range contents.Parts(entry) {
					stats := p.Contents().Stats()
					asked, predicted = max(asked, stats.Asked), predicted+stats.Predicted/float64(parts)
				}
				limit := 0.0101
				if strings.Contains(other, "GROW") {
					limit = 0.021
				}
				if got != "+OK" || asked > limit || predicted > limit {
					t.Errorf("%s: %s and %s, asked for %v, predicted %v", name, first, got, asked, predicted)
				}
				for i := range 84 {
					if has := b.do(append([]string{"FILTER.HAS", "k"}, someWords("{items}", i)...)...); strings.Contains(has, "false") {
						t.Fatalf("%s: items are lost", name)
					}
				}
			}
		}
	}
}

// TestPiecesThatAreSentTwice loads a filter of which a client sends pieces again, as after a time-out: one that is the same
// changes nothing, and another one begins another load.
func TestPiecesThatAreSentTwice(t *testing.T) {
	small, other := bloom.Config{Capacity: 1000, ErrorRate: 0.01}, bloom.Config{Capacity: 1000, ErrorRate: 0.01}
	cursor := func(part int) string { return fmt.Sprint(int64(3)<<32 | int64(part+1)) }
	f, err := other.New()
	if err != nil {
		t.Fatal(err)
	}
	f.AddString("x")
	data, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		parts []int // a part of other data is negative: -1 is part 0
		want  string
	}{
		{[]int{0, 1, 2, 3}, ":1"},
		{[]int{0, 1, 1, 2, 3}, ":1"},
		{[]int{0, 0, 1, 1, 1, 2, 0, 2, 3}, ":1"},
		{[]int{2, 3, 2, 0, 3, 1}, ":1"},
		{[]int{0, 1, -2, 2, 3}, ":0"},
		{[]int{0, 1, -1, 1, 2, 3}, ":1"},
	} {
		b := newBench(t, 1<<30)
		for _, part := range tt.parts {
			piece := encodedBloom(t, small)
			if part < 0 {
				part, piece = -part-1, string(data)
			}
			if got := b.do("FILTER.LOAD", "k", cursor(part), piece); got != "+OK" {
				t.Fatalf("pieces %v: %s", tt.parts, got)
			}
		}
		if got := b.line("EXISTS k"); got != tt.want {
			t.Errorf("pieces %v: EXISTS = %s, want %s", tt.parts, got, tt.want)
		}
	}
}
