package health_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/health"
)

// illness makes a filter ill, and has the diagnosis that it must get.
type illness struct {
	name    string
	make    func(s *source, k *health.Keeper) *filter
	verdict health.Verdict
	reason  string // a part of it
	command string // all of it, for the key k
}

var illnesses = []illness{
	{
		"a filter that is as full as it was made for is over nothing",
		func(s *source, _ *health.Keeper) *filter { return s.small(850) },
		health.OK, "All measurements are within their limits", "",
	},
	{
		"twice as many items as it was made for",
		func(s *source, _ *health.Keeper) *filter {
			f := s.add(bloom.New(10_000, 0.01))
			f.fill(19_500, 1)
			return f
		},
		health.Rebuild, "more than the 1% asked for", "FILTER.REBUILD k BEGIN CAPACITY 30000 ERROR 0.01",
	},
	{
		"keys that are aimed at one block",
		func(s *source, _ *health.Keeper) *filter {
			f := s.add(bloom.New(10_000, 0.01))
			f.fill(3000, 1)
			for i := range uint64(60) { // the block is the upper half of the hash times the number of blocks
				f.hashed.(bloomery.Adder).AddHash(i * 0x9e3779b97f4a7c15 >> 24)
			}
			f.version++
			return f
		},
		health.Rebuild, "aimed at one place", "FILTER.REBUILD k BEGIN NEWKEY <id>, with a line <id> = <32 hexadecimal digits> in the file of serve --keys",
	},
	{
		"all items that it was made for",
		func(s *source, _ *health.Keeper) *filter {
			f := s.add(bloom.New(10_000, 0.01))
			f.fill(10_000, 1)
			return f
		},
		health.OK, "of the 10,000 items it was made for, and more items raise its rate over 1%", "",
	},
	{
		"items over 90% of capacity in one load",
		func(s *source, k *health.Keeper) *filter {
			f := s.add(bloom.New(10_000, 0.01))
			for i := range 8 {
				f.fill(1200, uint64(i))
				s.run(k, 5*time.Minute)
			}
			s.run(k, 2*time.Hour)
			return f
		},
		health.OK, "of the 10,000 items it was made for", "",
	},
	{
		"items over 90% of capacity, and more after an hour",
		func(s *source, k *health.Keeper) *filter {
			f := s.add(bloom.New(10_000, 0.01))
			f.fill(9_500, 1)
			s.run(k, 70*time.Minute)
			f.fill(100, 2)
			s.run(k, time.Minute)
			return f
		},
		health.Resize, "over 90% of the 10,000 it was made for, and it is still filling", "FILTER.GROW k",
	},
	{
		"more slots in use than it was made for",
		func(s *source, _ *health.Keeper) *filter {
			f := s.add(cuckoo.New(10_000, 0.01))
			f.fill(10_001, 1)
			return f
		},
		health.Resize, "It holds 10,001 items, more than the 10,000", "FILTER.REBUILD k BEGIN CAPACITY 16000 ERROR 0.01",
	},
	{
		"full within a day at the present pace",
		func(s *source, k *health.Keeper) *filter {
			f := s.add(bloom.New(100_000, 0.01))
			f.fill(30_000, 1)
			for i := range 80 { // 300 items every 10 seconds: 60% of 100,000 come in less than a day
				f.fill(300, uint64(i+2))
				s.run(k, 10*time.Second)
			}
			return f
		},
		health.Resize, "items a second it is full, with 100,000 items, in 2", "FILTER.GROW k",
	},
	{
		"a p99 over its SLA",
		func(s *source, k *health.Keeper) *filter {
			f := s.add(bloom.NewStandard(10_000, 0.01))
			f.fill(5000, 1)
			f.change = func(l *health.Look) { l.SLA = 100 * time.Microsecond }
			s.run(k, time.Minute)
			for range 2000 {
				k.Meter(f.id).Note(0, health.Has, 200*time.Microsecond, 1, 1, 1)
			}
			return f
		},
		health.Optimize, "over its SLA of 100µs", "FILTER.REBUILD k BEGIN bloom",
	},
	{
		"a p99 over its SLA that is a wait for other nodes",
		func(s *source, k *health.Keeper) *filter {
			f := s.add(bloom.NewStandard(10_000, 0.01))
			f.fill(5000, 1)
			f.change = func(l *health.Look) { l.SLA = 100 * time.Microsecond }
			s.run(k, time.Minute)
			for range 2000 {
				k.Meter(f.id).Note(0, health.Add, 200*time.Microsecond, 1, 0, 0)
				k.Meter(f.id).Waited(0, health.Add, 190*time.Microsecond, 1)
			}
			return f
		},
		health.Optimize, "100µs, and calls wait for other nodes, 190µs on average.", "INFO cluster",
	},
	{
		"a kind that takes more than twice the time",
		func(s *source, k *health.Keeper) *filter {
			f := s.add(bloom.NewStandard(10_000, 0.01))
			f.fill(5000, 1)
			s.run(k, time.Minute)
			k.Meter(f.id).Note(0, health.Has, 10*time.Microsecond, 90_000, 90_000, 0)
			k.Meter(f.id).Note(0, health.Add, 100*time.Microsecond, 10_001, 10_001, 0)
			s.run(k, 6*time.Minute)
			return f
		},
		health.Optimize, "bloom takes 7.0 times less time", "FILTER.REBUILD k BEGIN bloom",
	},
	{
		"counters that nobody uses",
		func(s *source, k *health.Keeper) *filter {
			f := s.add(counting.New(10_000, 0.01))
			f.fill(5000, 1)
			s.run(k, time.Minute)
			k.Meter(f.id).Note(0, health.Has, 10*time.Microsecond, 90_000, 90_000, 0)
			k.Meter(f.id).Note(0, health.Add, 100*time.Microsecond, 10_001, 10_001, 0)
			s.run(k, 6*time.Minute)
			return f
		},
		health.Optimize, "times less space", "FILTER.REBUILD k BEGIN bloom",
	},
	{
		"bytes over its budget",
		func(s *source, _ *health.Keeper) *filter {
			f := s.add(bloom.New(10_000, 0.01))
			f.fill(3500, 1)
			f.change = func(l *health.Look) { l.Budget, l.Folds = 6000, true }
			return f
		},
		health.Compress, "over its budget of 6,000", "FILTER.FOLD k",
	},
	{
		"bytes over its budget, and no room to fold",
		func(s *source, _ *health.Keeper) *filter {
			f := s.add(bloom.New(10_000, 0.01))
			f.fill(8000, 1)
			f.change = func(l *health.Look) { l.Budget, l.Folds = 6000, true }
			return f
		},
		health.Compress, "over its budget of 6,000", "FILTER.REBUILD k BEGIN ERROR 0.11",
	},
	{
		"hardly filled for a day",
		func(s *source, k *health.Keeper) *filter {
			f := s.add(bloom.New(100_000, 0.01))
			f.fill(1000, 1)
			f.change = func(l *health.Look) { l.Folds = true }
			s.run(k, 25*time.Hour)
			return f
		},
		health.Compress, "less than 10% full for a day", "FILTER.FOLD k",
	},
	{
		"hardly filled for a day, and of a kind that cannot be folded",
		func(s *source, k *health.Keeper) *filter {
			f := s.add(bloom.NewPartitioned(100_000, 0.01))
			f.fill(1000, 1)
			s.run(k, 25*time.Hour)
			return f
		},
		health.Compress, "less than 10% full for a day", "FILTER.REBUILD k BEGIN CAPACITY 1600",
	},
	{
		"a BF without scaling that is full",
		func(s *source, _ *health.Keeper) *filter {
			b, err := redisbloom.NewBloom(redisbloom.BloomParams{Capacity: 1000, ErrorRate: 0.01, NonScaling: true})
			if err != nil {
				panic(err)
			}
			f := s.add(b)
			f.asks = noProbes
			for i := range 1000 {
				_, _ = b.Add([]byte{byte(i), byte(i >> 8)})
			}
			return f
		},
		health.OK, "of the 1,000 items it was made for, and more items may be refused", "",
	},
	{
		"a CF that has grown over its rate",
		func(s *source, _ *health.Keeper) *filter {
			c, err := redisbloom.NewCuckoo(redisbloom.CuckooParams{Capacity: 1000, BucketSize: 2, MaxIterations: 20, Expansion: 1})
			if err != nil {
				panic(err)
			}
			f := s.add(c)
			f.asks = noProbes
			f.change = func(l *health.Look) { l.Grows, l.Layers = true, c.Filters() }
			for i := range 4000 {
				_ = c.Insert([]byte{byte(i), byte(i >> 8)})
			}
			return f
		},
		health.Rebuild, "asked for", "CF.RESERVE <new key> 6000, then CF.ADD every item and RENAME <new key> k",
	},
}

// TestVerdicts makes each illness on a real filter.
func TestVerdicts(t *testing.T) {
	for _, c := range illnesses {
		t.Run(c.name, func(t *testing.T) {
			s := newSource()
			k := s.keeper()
			f := c.make(s, k)
			s.run(k, 31*time.Second)
			got := report(t, k, f)
			if got.Verdict != c.verdict || !strings.Contains(got.Reason, c.reason) || got.Command("k", noKey) != c.command {
				t.Errorf("%v: %s (%s)\nwant %v: %s (%s)", got.Verdict, got.Reason, got.Command("k", noKey), c.verdict, c.reason, c.command)
			}
			if n := strings.Count(got.Reason, ". ") + 1; n != 1 || !strings.HasSuffix(got.Reason, ".") {
				t.Errorf("the reason is not one sentence: %s", got.Reason)
			}
		})
	}
}

// TestVerdictIsThatOfTheRate has the rate of a filter go over the limit and below: the
// verdict does so at the same time.
func TestVerdictIsThatOfTheRate(t *testing.T) {
	s := newSource()
	k := s.keeper()
	f := s.add(bloom.New(10_000, 0.01))
	f.fill(100, 1)
	s.run(k, 5*time.Second) // the first evaluation has been
	predicted := 0.0
	f.change = func(l *health.Look) {
		if predicted > 0 {
			l.Predicted = predicted
		}
	}
	step := func(p float64) health.Verdict {
		predicted = p
		f.version += 10
		s.run(k, 10*time.Second)
		d, _, _ := k.Known(f)
		return d.Verdict
	}
	for i, c := range []struct {
		predicted float64
		want      health.Verdict
	}{
		{0.02, health.Rebuild},
		{0.01019, health.OK}, // just below 1.02 times the rate
		{0.02, health.Rebuild},
		{0.0095, health.OK},
	} {
		if got := step(c.predicted); got != c.want {
			t.Errorf("evaluation %d at a rate of %v: %v, want %v", i, c.predicted, got, c.want)
		}
	}
}

// TestHealthyAtCapacity holds filters at 85% of their capacity to OK: a standard
// filter is nearly half full then, and nothing is wrong with it.
func TestHealthyAtCapacity(t *testing.T) {
	for _, kind := range codec.Kinds() {
		if kind.New == nil {
			continue
		}
		s := newSource()
		k := s.keeper()
		h, err := kind.New(5000, 0.01, bloomeryHasher)
		if err != nil {
			t.Fatal(err)
		}
		f := s.add(h)
		n := 4250
		if kind.Features.Expire {
			n /= 6 // all of them are in one generation
		}
		f.fill(n, 1)
		s.run(k, time.Minute)
		if got := report(t, k, f); got.Verdict != health.OK {
			t.Errorf("%s: %v: %s", kind.Name, got.Verdict, got.Reason)
		}
	}
}

// TestVerdictsOfKinds holds the table to the kinds that there are.
func TestVerdictsOfKinds(t *testing.T) {
	never := map[health.Verdict]string{
		health.Resize: "fuse8 fuse16 fuse32 ribbon map exact scalable growing window stable",
	}
	for _, kind := range codec.Kinds() {
		for _, v := range health.Verdicts() {
			want := !strings.Contains(" "+never[v]+" ", " "+kind.Name+" ")
			if got := health.CanHave(kind.Name, v); got != want {
				t.Errorf("CanHave(%s, %v) = %v, want %v", kind.Name, v, got, want)
			}
		}
	}
	if health.CanHave("unheard-of", health.Resize) || !health.CanHave("unheard-of", health.Optimize) {
		t.Error("an unknown kind can be resized, or cannot be slow")
	}
}

// TestCommandsQuoteNames checks names that redis-cli would take for something else.
func TestCommandsQuoteNames(t *testing.T) {
	s := newSource()
	k := s.keeper()
	f := s.add(bloom.New(10_000, 0.01))
	f.fill(9_600, 1)
	f.change = func(l *health.Look) { l.Items, l.Exact = 10_100, true }
	got := report(t, k, f)
	for name, want := range map[string]string{
		"users":     `FILTER.GROW users`,
		"my users":  `FILTER.GROW "my users"`,
		"a\"b\\\n":  `FILTER.GROW "a\"b\\\x0a"`,
		"":          `FILTER.GROW ""`,
		"{tag}:1":   `FILTER.GROW {tag}:1`,
		"it's":      `FILTER.GROW "it's"`,
		`a\b`:       `FILTER.GROW "a\\b"`,
		"~":         `FILTER.GROW ~`,
		"\x7f":      `FILTER.GROW "\x7f"`,
		"\xff\x00z": `FILTER.GROW "\xff\x00z"`,
	} {
		if got := got.Command(name, noKey); got != want {
			t.Errorf("Command(%q) = %s, want %s", name, got, want)
		}
	}
}

// noKey is for filters that may have no secret key.
func noKey() string { return "" }
