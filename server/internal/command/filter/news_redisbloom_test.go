package filter_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// dumpEqual asks that a copy is what DUMP answers.
func (f *follower) dumpEqual(t testing.TB, b *commandtest.Bench, key, when string) {
	t.Helper()
	want := b.Exec(commandtest.Bytes([]string{"DUMP", key}))[0].Text
	if len(f.Parts) != 1 || !bytes.Equal(f.Parts[0], []byte(want)) {
		t.Fatalf("%s %s: the copy is another one than DUMP answers", key, when)
	}
}

// Copies of a BF get bits and the number of items, and all of it with a layer more. They stay
// equal, byte for byte.
func TestNewsOfBF(t *testing.T) {
	for _, reserve := range []string{"BF.RESERVE f 0.01 1200", "BF.RESERVE f 0.0001 5000 NONSCALING", "BF.RESERVE f 0.00001 600 EXPANSION 1"} {
		b := commandtest.New(t, 1<<30)
		b.OK(t, reserve)
		var f follower
		if f.ask(t, b, "f"); f.Forms != "d" {
			t.Errorf("%s: the first news are %q", reserve, f.Forms)
		}
		rng := rand.New(rand.NewPCG(7, uint64(len(reserve))))
		seen := map[string]int{}
		for round := range 150 {
			words := []string{"BF.MADD", "f"}
			for range 1 + rng.IntN(20) {
				words = append(words, fmt.Sprint(rng.IntN(9000)))
			}
			layers := b.Line("BF.INFO f FILTERS")
			b.Do(words...)
			want := "a"
			if b.Line("BF.INFO f FILTERS") != layers {
				want = "d"
			}
			f.ask(t, b, "f", "MAX", "64")
			if strings.Trim(f.Forms, want) != "" {
				t.Errorf("%s: round %d: news are %q, want %s", reserve, round, f.Forms, want)
			}
			if f.Forms != "" {
				seen[f.Forms[:1]]++
			}
			f.dumpEqual(t, b, "f", fmt.Sprint("in round ", round))
		}
		if scales := !strings.Contains(reserve, "NONSCALING"); seen["a"] == 0 || scales != (seen["d"] > 0) {
			t.Errorf("%s: forms %v", reserve, seen)
		}
	}
}

// Copies of a CF get what was done, and all of it when it was compacted.
func TestNewsOfCF(t *testing.T) {
	for _, reserve := range []string{"CF.RESERVE f 2000", "CF.RESERVE f 64 EXPANSION 2", "CF.RESERVE f 64 BUCKETSIZE 4 MAXITERATIONS 3 EXPANSION 1"} {
		b := commandtest.New(t, 1<<30)
		b.OK(t, reserve)
		var f follower
		f.ask(t, b, "f")
		rng := rand.New(rand.NewPCG(8, uint64(len(reserve))))
		seen := map[string]int{}
		for round := range 300 {
			adds := 5
			if round/50%2 == 1 { // it shrinks, and is compacted
				adds = 2
			}
			for range 1 + rng.IntN(10) {
				verb := "CF.DEL"
				switch n := rng.IntN(7); {
				case n < adds-1:
					verb = "CF.ADD"
				case n < adds:
					verb = "CF.ADDNX"
				}
				b.Do(verb, "f", fmt.Sprint(rng.IntN(400)))
			}
			if rng.IntN(50) == 0 {
				b.Do("CF.COMPACT", "f")
			}
			f.ask(t, b, "f")
			seen[f.Forms]++
			f.dumpEqual(t, b, "f", fmt.Sprint("in round ", round))
		}
		if t.Logf("%s: %v", reserve, seen); seen["s"] < 150 || seen["d"] == 0 {
			t.Errorf("%s: forms %v, want steps as a rule", reserve, seen)
		}
	}
}

// What gives a BF or CF other contents at once is sent as a whole, and a start does not lose
// an equal copy.
func TestNewsOfOtherDumps(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, make := range []string{"BF.ADD", "CF.ADD"} {
		for _, name := range []string{"f", "g"} {
			b.Do(make, name, "only-"+name)
		}
		var f follower
		f.ask(t, b, "f")
		b.Line("RENAME g f")
		if f.ask(t, b, "f"); f.Forms != "d" {
			t.Errorf("another one takes the name: %q", f.Forms)
		}
		f.dumpEqual(t, b, "f", "renamed")
		chunk := b.Exec(commandtest.Bytes([]string{make[:2] + ".SCANDUMP", "f", "1"}))[0]
		b.Do(make[:2]+".LOADCHUNK", "f", fmt.Sprint(chunk.Elems[0].N), chunk.Elems[1].Text)
		if f.ask(t, b, "f"); f.Forms != "d" {
			t.Errorf("a chunk is loaded: %q", f.Forms)
		}
		b.Do(make, "f", "more")
		if f.ask(t, b, "f"); f.Forms == "d" || f.Forms == "" {
			t.Errorf("then an item: %q", f.Forms)
		}
		f.dumpEqual(t, b, "f", "behind a chunk")
		b = b.Restart(t, nil)
		if f.ask(t, b, "f", "SUM", f.Sum()); f.Forms != "" {
			t.Errorf("an equal copy gets %q after a start", f.Forms)
		}
		b.Line("DEL f")
	}
}
