// The command bench: the speed of every kind on this machine.

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/figures"
)

// benchBatch is how many hashes a call gets, as the commands on files do.
const benchBatch = 4096

// benchOptions are the flags of bench.
type benchOptions struct {
	kinds []string
	sizes []string
	rate  number[float64]
	time  time.Duration
}

func newBench() *cobra.Command {
	o := &benchOptions{rate: rateFlag("1%")}
	cmd := &cobra.Command{
		Use:   "bench [--kind KIND,...] [-n N,...] [-p P]",
		Short: "Measure every kind of filter on this machine",
		Long: `bench fills filters of every kind with N keys and prints how long an operation
takes, in nanoseconds: to add a key (for static kinds, the whole build divided
by the keys), to find one that is present, and to look up one that is absent.
Keys are 64-bit hashes, 4,096 in a call, on one core. It also prints the bits
per key and the false positive rate predicted for this fill. Kinds that cannot
have the rate P are left out.

On a busy machine, run it several times and use the best figures.`,
		Example: `  bloomery bench -n 1e4
  bloomery bench --kind bloom,standard -n 1e3,1e5 -p 0.1% --time 5ms --json`,
		Args: noArguments,
	}
	newShell(cmd, func(ctx context.Context, s *shell, _ []string) error { return o.run(ctx, s) })
	f := cmd.Flags()
	f.StringSliceVar(&o.kinds, "kind", nil, "kinds to measure, a `LIST` separated by commas (default all)")
	f.StringSliceVarP(&o.sizes, "keys", "n", []string{"1e4", "1e6"}, "numbers of keys, a `LIST` separated by commas")
	f.VarP(&o.rate, "rate", "p", "false positive rate: 0.01, 0.1%, 1in1000")
	durationVar(f, &o.time, "time", 50*time.Millisecond, "how long each operation is measured at least")
	completeList(cmd, "kind", append(kindNames(), anyFuse)...)
	return cmd
}

// mostBenchKeys bounds the memory for keys.
const mostBenchKeys = 1e9

// benchJSON is one measurement; times are nanoseconds for one key.
type benchJSON struct {
	Kind       string  `json:"kind"`
	Keys       uint64  `json:"keys"`
	Add        float64 `json:"add_ns"`
	Hit        float64 `json:"hit_ns"`
	Miss       float64 `json:"miss_ns"`
	BitsPerKey float64 `json:"bits_per_key"`
	Predicted  float64 `json:"predicted"`
}

func (o *benchOptions) run(ctx context.Context, s *shell) error {
	switch {
	case o.time <= 0:
		return fmt.Errorf("--time %s is not above 0", o.time)
	case len(o.sizes) == 0:
		return errors.New("-n: how many keys?")
	}
	kinds := codec.Kinds()
	if len(o.kinds) > 0 {
		kinds = kinds[:0]
		for _, name := range o.kinds {
			k, err := kindFor(name, o.rate.value)
			if err != nil {
				return err
			}
			kinds = append(kinds, k)
		}
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kind\tkeys\tadd ns\thit ns\tmiss ns\tbits/key\trate\t")
	measured := 0
	var skipped error
	for _, size := range o.sizes {
		n, err := figures.Count(size)
		if err != nil {
			return err
		}
		if n < 1 || n > mostBenchKeys {
			return fmt.Errorf("-n %s is not between 1 and 1e9", size)
		}
		for _, k := range kinds {
			if err := ctx.Err(); err != nil {
				return err
			}
			b, err := abandon(ctx, func() (benchJSON, error) { return o.measure(k, int(n)) })
			if errors.Is(err, bloomery.ErrParameter) { // the rate is none that the kind has
				skipped = about("", err)
				s.say("%s is left out: %s", k.Name, skipped)
				continue
			}
			if err != nil {
				return about("", err)
			}
			measured++
			if s.asJSON {
				if err := s.print(b); err != nil {
					return err
				}
			}
			fmt.Fprintf(w, "%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%s\t\n", b.Kind, grouped(b.Keys), b.Add, b.Hit, b.Miss, b.BitsPerKey, shareText(b.Predicted))
		}
	}
	if measured == 0 {
		return skipped
	}
	if s.asJSON {
		return nil
	}
	_ = w.Flush() // a strings.Builder takes everything
	_, err := fmt.Fprintf(s.out, "%s, %s/%s, one core\n%s", runtime.Version(), runtime.GOOS, runtime.GOARCH, table.String())
	return err
}

// measure fills a filter and times its operations.
func (o *benchOptions) measure(k codec.Kind, n int) (benchJSON, error) {
	h := hashing.Hasher{}
	keys := hashesFrom(h, 0, n)
	var f bloomery.Hashed
	var err error
	add := perKey(n, o.time, func() {
		if err == nil {
			f, err = o.filled(k, keys, h)
		}
	})
	if err != nil {
		return benchJSON{}, err
	}
	found := make([]bool, benchBatch)
	ask := func(keys []uint64) float64 {
		return perKey(len(keys), o.time, func() {
			for some := range slices.Chunk(keys, benchBatch) {
				f.ContainsHashes(found, some)
			}
		})
	}
	b := benchJSON{Kind: k.Name, Keys: uint64(n), Add: add, Hit: ask(keys)}
	b.Miss = ask(hashesFrom(h, n, n))
	stats := f.Stats()
	b.BitsPerKey, b.Predicted = float64(stats.Bytes)*8/float64(n), stats.Predicted
	return b, nil
}

// filled returns a filter of these keys.
func (o *benchOptions) filled(k codec.Kind, keys []uint64, h hashing.Hasher) (bloomery.Hashed, error) {
	if k.New == nil {
		return k.Build(slices.Clone(keys), o.rate.value, h)
	}
	f, err := k.New(len(keys), o.rate.value, h)
	if err != nil {
		return nil, err
	}
	add, err := adderOf(f)
	if err != nil {
		return nil, err
	}
	share := len(keys)
	w, expires := f.(*compose.Window)
	if expires { // made for keys that come evenly
		g := w.Shape().Generations
		share = (share + g - 1) / g
	}
	for part := range slices.Chunk(keys, share) {
		if expires {
			w.Advance(w.Generation() + 1)
		}
		for some := range slices.Chunk(part, benchBatch) {
			if _, err := add(some); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// hashesFrom returns the hashes of n numbers.
func hashesFrom(h hashing.Hasher, from, n int) []uint64 {
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = h.HashUint64(uint64(from + i))
	}
	return hs
}

// fewKeys is up to how many keys caches, tables and the clock itself would be
// measured with the first call.
const fewKeys = 100_000

// perKey calls f again and again for some time, at least once, and returns the
// nanoseconds that each of n keys took when it was fastest. With few keys the
// first call is not measured, and several are measured together.
func perKey(n int, least time.Duration, f func()) float64 {
	if n <= fewKeys {
		f()
	}
	together := max(1, benchBatch/n)
	best := math.Inf(1)
	for start := time.Now(); ; {
		before := time.Now()
		for range together {
			f()
		}
		best = min(best, float64(time.Since(before).Nanoseconds())/float64(n*together))
		if time.Since(start) >= least {
			return best
		}
	}
}
