package filter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestIllnessesAndCures makes filters ill in every way and cures each by exactly the
// command that its verdict names: no item is lost, and it is well.
func TestIllnessesAndCures(t *testing.T) {
	const n = 4000
	fillOn := func(_ *testing.T, b *bench) {
		b.Watch(70 * time.Minute)
		b.add("f", "a", n, n+50)
	}
	illnesses := []struct {
		name, create string
		verdict      string
		command      string // how it begins
		sicken       func(t *testing.T, b *bench)
	}{
		{"over rate", "bloom CAPACITY 2000 ERROR 0.01", "Rebuild", "FILTER.REBUILD f BEGIN CAPACITY ", nil},
		{"full", "bloom CAPACITY 4200 ERROR 0.01", "Resize", "FILTER.GROW f", fillOn},
		{"full, a kind that cannot grow", "standard CAPACITY 4200 ERROR 0.01", "Resize", "FILTER.REBUILD f BEGIN CAPACITY ", fillOn},
		{"full slots", "cuckoo CAPACITY 3990 ERROR 0.01", "Resize", "FILTER.REBUILD f BEGIN CAPACITY ", nil},
		{"attacked", "bloom CAPACITY 8000 ERROR 0.01", "Rebuild", "FILTER.REBUILD f BEGIN NEWKEY new", func(t *testing.T, b *bench) {
			words := []string{"FILTER.ADDHASH", "f"}
			for i := range 60 { // all of them in the first block
				words = append(words, fmt.Sprint(uint64(i)*0x9e3779b97f4a7c15>>12))
			}
			b.Do(words...)
		}},
		{"over budget", "bloom CAPACITY 40000 ERROR 0.01 BUDGET 40000", "Compress", "FILTER.FOLD f", nil},
		{"over budget, and not sparse", "bloom CAPACITY 5000 ERROR 0.0001 BUDGET 7000", "Compress", "FILTER.REBUILD f BEGIN ERROR ", nil},
		{"sparse", "bloom CAPACITY 200000 ERROR 0.01", "Compress", "FILTER.FOLD f", func(t *testing.T, b *bench) { b.Watch(25 * time.Hour) }},
		{"sparse, a kind that cannot fold", "cuckoo CAPACITY 100000 ERROR 0.01", "Compress", "FILTER.REBUILD f BEGIN CAPACITY ", func(t *testing.T, b *bench) {
			b.Watch(25 * time.Hour)
		}},
		{"slow", "standard CAPACITY 8000 SLA 50", "Optimize", "FILTER.REBUILD f BEGIN bloom", func(t *testing.T, b *bench) {
			b.Watch(2 * time.Second)
			b.Tick = 100 * time.Microsecond
			for range 1500 {
				b.Line("FILTER.HAS f a")
			}
			b.Tick = 0
			b.Watch(time.Minute)
		}},
		{"slow by the model", "standard CAPACITY 8000 ERROR 0.001", "Optimize", "FILTER.REBUILD f BEGIN ", func(t *testing.T, b *bench) {
			b.Watch(2 * time.Second)
			batch := make([][][]byte, 1000)
			for i := range batch {
				batch[i] = commandtest.Bytes([]string{"FILTER.HAS", "f", "a"})
			}
			b.add("f", "a", 0, 10) // it is not one that never changes
			for range 105 {
				b.Exec(batch...)
			}
			b.Watch(10 * time.Minute) // the model is asked every five
		}},
	}
	for _, v := range illnesses {
		t.Run(v.name, func(t *testing.T) {
			if testing.Short() && strings.HasPrefix(v.name, "sparse, ") {
				t.Skip("a day takes long")
			}
			b := openBench(t, nil, newBench(t, 1).Now, commandtest.Keys())
			b.OK(t, "FILTER.CREATE f "+v.create)
			b.add("f", "a", 0, n)
			if v.sicken != nil {
				v.sicken(t, b)
			}
			if got, command := b.field(t, "f", "verdict"), b.field(t, "f", "command"); got != v.verdict || !strings.HasPrefix(command, v.command) {
				t.Fatalf("verdict %s, command %s (%s); want %s, %s", got, command, b.field(t, "f", "reason"), v.verdict, v.command)
			}
			for range 3 { // a fold may not be enough
				if b.field(t, "f", "verdict") == "OK" {
					break
				}
				b.cure(t, n)
				b.Watch(2 * time.Minute)
			}
			if got := b.field(t, "f", "verdict"); got != "OK" {
				t.Errorf("verdict %s after the cure (%s)", got, b.field(t, "f", "reason"))
			}
			b.hasAll(t, "f", "a", 0, n)
			b.Crash(t)
		})
	}
}

// cure sends what the verdict of f names and, if that is a rebuild, feeds its items
// and commits.
func (b *bench) cure(t *testing.T, n int) {
	t.Helper()
	command := b.field(t, "f", "command")
	b.OK(t, command)
	if strings.Contains(command, "REBUILD") {
		b.feed(t, "f", "a", 0, n)
		b.OK(t, "FILTER.REBUILD f COMMIT")
	}
}
