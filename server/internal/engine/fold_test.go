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

// TestPiecesThatAreSentTwice loads filters of which a client sends pieces again, as after a time-out, or those of two
// filters one after the other. A piece that is the same changes nothing, one of a load that is over is refused, and no
// filter is made of two.
func TestPiecesThatAreSentTwice(t *testing.T) {
	cursor := func(part int) string { return fmt.Sprint(int64(3)<<32 | int64(part+1)) }
	const lone = "-ERR no load of which this is a piece is under way"
	pieces := map[byte]string{}
	for _, name := range []byte("ab") {
		f := bloom.New(1000, 0.01)
		f.AddString(string(name))
		data, err := f.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		pieces[name] = string(data)
	}
	for _, tt := range []struct{ calls, refused, want string }{
		{"a0 a1 a2 a3", "", "a"},
		{"a0 a1 a1 a2 a3", "", "a"},
		{"a0 a0 a1 a1 a1 a2 a0 a2 a3", "", "a"},
		{"a0 a3 a3 a2 a1", "", "a"},
		{"a1 a0 a1 a2 a3", "1", "a"},
		{"a0 a1 a2 a3 a3", "3", "a"},
		{"a0 a1 a2 a3 a3 b0 b1 b2 b3", "3", "b"},
		{"a0 b0 b1 b2 b3", "", "b"},
		{"a0 a1 b1 a2 a3", "1 2 3", ""},
		{"a0 a1 b1 b0 b1 b2 b3", "1", "b"},
		{"a0 a1 b0 b1 b2 b3", "", "b"},
	} {
		b := newBench(t, 1<<30)
		refused := []string{}
		for call := range strings.FieldsSeq(tt.calls) {
			switch got := b.do("FILTER.LOAD", "k", cursor(int(call[1]-'0')), pieces[call[0]]); {
			case strings.HasPrefix(got, lone):
				refused = append(refused, call[1:])
			case got != "+OK":
				t.Fatalf("%s: %s", tt.calls, got)
			}
		}
		has := ""
		if b.line("EXISTS k") == ":1" {
			for _, name := range []byte("ab") {
				for _, p := range contents.Parts(b.state.Names.Lookup([]byte("k"), 0)) {
					if p.Filter().Contains([]byte{name}) {
						has += string(name)
					}
				}
			}
		}
		if want := strings.Repeat(tt.want, 4); has != want || strings.Join(refused, " ") != tt.refused {
			t.Errorf("%s: %s refused, the parts have %q, want %s and %q", tt.calls, refused, has, tt.refused, want)
		}
	}
}
