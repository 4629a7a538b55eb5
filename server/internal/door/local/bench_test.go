package local_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// openBench opens a door whose folder is that of the benchmark, or that keeps
// nothing.
func openBench(b *testing.B, dir, fsync string) (*store.State, *local.Door) {
	b.Helper()
	c := local.Config{State: store.New(), SnapshotAfter: -1}
	if fsync != "none" {
		disk, err := folder.OpenDisk(dir)
		if err != nil {
			b.Fatal(err)
		}
		c.Files = disk
		if c.Fsync, err = local.ParseFsync(fsync); err != nil {
			b.Fatal(err)
		}
	}
	d, err := local.Open(c)
	if err != nil {
		b.Fatal(err)
	}
	return c.State, d
}

// adder puts runs of 16 new items through a door.
type adder struct {
	door *local.Door
	ops  []*door.Op
	rng  *rand.Rand
}

func newAdder(d *local.Door, seed, id uint64, part *contents.Part) *adder {
	const run = 16
	op := &door.Op{Record: store.Record{ID: id, Body: &store.BloomAdd{Room: store.Unlimited, Digests: make([]redisbloom.Digest, run)}}, Part: part}
	op.Result.Bools = make([]bool, run)
	return &adder{d, []*door.Op{op}, rand.New(rand.NewPCG(seed, 9))}
}

func (a *adder) run() {
	digests := a.ops[0].Record.Body.(*store.BloomAdd).Digests
	for i := range digests {
		digests[i] = redisbloom.Digest{A: a.rng.Uint64(), B: a.rng.Uint64() | 1}
	}
	a.door.Do(a.ops)
	a.door.Wait(a.ops)
}

// makeLarge makes a Bloom filter of about n bytes.
func makeLarge(b *testing.B, d *local.Door, n uint64) (uint64, *contents.Part) {
	b.Helper()
	r := newBloom("large", min(n*8*100/1103, 1<<30)) // 11.03 bits an item
	op := &door.Op{Record: r}
	if d.Do([]*door.Op{op}); op.Result.Err != nil {
		b.Fatal(op.Result.Err)
	}
	return op.Result.Entry.ID, contents.PartOf(op.Result.Entry)
}

// BenchmarkAdd is additions of new items in runs of 16 by one client: what the
// log costs.
func BenchmarkAdd(b *testing.B) {
	for _, fsync := range []string{"none", "no", "everysec"} {
		b.Run("fsync="+fsync, func(b *testing.B) {
			_, d := openBench(b, b.TempDir(), fsync)
			defer func() { _ = d.Close() }()
			id, part := makeLarge(b, d, 64<<20)
			a := newAdder(d, 1, id, part)
			b.ReportAllocs()
			for b.Loop() {
				a.run()
			}
			b.ReportMetric(16*float64(b.N)/b.Elapsed().Seconds(), "adds/s")
		})
	}
}

// BenchmarkAlways is 50 clients that each wait until their 16 items are durable,
// against the fsyncs that the disk can do one after the other.
func BenchmarkAlways(b *testing.B) {
	dir := b.TempDir()
	_, d := openBench(b, dir, "always")
	defer func() { _ = d.Close() }()
	id, part := makeLarge(b, d, 16<<20)
	fsyncs := fsyncRate(b, filepath.Join(dir, "probe"))
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	for g := range uint64(50) {
		wg.Go(func() {
			for a := newAdder(d, g, id, part); left.Add(-1) >= 0; {
				a.run()
				if err := d.Sync(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	rate := 16 * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "adds/s")
	b.ReportMetric(fsyncs, "fsync/s")
	b.ReportMetric(rate/fsyncs, "adds/fsync")
}

// fsyncRate returns how often a second the disk takes 512 bytes for good.
func fsyncRate(b *testing.B, name string) float64 {
	b.Helper()
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _, _ = f.Close(), os.Remove(name) }()
	n, began := 0, time.Now()
	for ; time.Since(began) < time.Second; n++ {
		if _, err := f.Write(make([]byte, 512)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(n) / time.Since(began).Seconds()
}

const gib = 1 << 30

// BenchmarkSnapshot is a snapshot of a filter of 1 GiB while two clients add to
// it: its time against that of cp and sync, how long the clients had to wait,
// and the memory it took. It does so once, whatever b.N: run it with -benchtime
// 1x.
func BenchmarkSnapshot(b *testing.B) {
	for _, load := range []bool{false, true} {
		b.Run(fmt.Sprintf("bytes=1GiB/load=%v", load), func(b *testing.B) {
			dir := b.TempDir()
			_, d := openBench(b, dir, "everysec")
			defer func() { _ = d.Close() }()
			id, part := makeLarge(b, d, gib)
			touch(d, id, part)
			stop := make(chan struct{})
			var wg sync.WaitGroup
			var waits [2][]time.Duration
			var reads []time.Duration
			if load {
				wg.Go(func() { reads = readers(part, stop) })
			}
			for g := range waits {
				if !load {
					break
				}
				wg.Go(func() {
					a := newAdder(d, uint64(g), id, part)
					for {
						select {
						case <-stop:
							return
						default:
						}
						began := time.Now()
						a.run()
						waits[g] = append(waits[g], time.Since(began))
						time.Sleep(20 * time.Microsecond)
					}
				})
			}
			peak := watchMemory(stop, &wg)
			b.ResetTimer()
			if err := d.Snapshot(); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			close(stop)
			wg.Wait()
			all := slices.Concat(waits[0], waits[1])
			if slices.Sort(all); len(all) > 0 {
				b.ReportMetric(float64(all[len(all)*999/1000].Microseconds())/1000, "p99.9-ms")
				b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "max-ms")
				slices.Sort(reads)
				b.ReportMetric(float64(reads[len(reads)*999/1000].Microseconds())/1000, "lock-p99.9-ms")
				b.ReportMetric(float64(reads[len(reads)-1].Microseconds())/1000, "lock-max-ms")
			}
			b.ReportMetric(b.Elapsed().Seconds(), "s")
			b.ReportMetric(copySeconds(b, dir), "cp-s")
			b.ReportMetric(float64(peak.Load())/(1<<20), "MiB-more")
		})
	}
}

// readers returns how long a reader waits for the lock of a part, which is how
// long others hold it.
func readers(part *contents.Part, stop chan struct{}) (waits []time.Duration) {
	for {
		select {
		case <-stop:
			return waits
		default:
		}
		began := time.Now()
		part.RLock()
		part.RUnlock() //nolint:staticcheck // waiting is all
		waits = append(waits, time.Since(began))
		time.Sleep(20 * time.Microsecond)
	}
}

// touch sets bits all over a filter, so that its memory is real.
func touch(d *local.Door, id uint64, part *contents.Part) {
	a := newAdder(d, 77, id, part)
	for range 100_000 {
		a.run()
	}
}

// watchMemory notes how far the heap grows until stop.
func watchMemory(stop chan struct{}, wg *sync.WaitGroup) *atomic.Int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	base, peak := int64(m.HeapAlloc), new(atomic.Int64)
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), int64(m.HeapAlloc)-base))
			}
		}
	})
	return peak
}

// copySeconds is how long cp and sync take for the same files.
func copySeconds(b *testing.B, dir string) float64 {
	b.Helper()
	to := filepath.Join(b.TempDir(), "copy")
	began := time.Now()
	if out, err := exec.CommandContext(b.Context(), "sh", "-c", "cp -r "+dir+" "+to+" && sync "+to+"/*").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return time.Since(began).Seconds()
}

// BenchmarkOpen is a start with 1 GiB of filters in a snapshot.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	_, d := openBench(b, dir, "no")
	for i := range 64 {
		op := &door.Op{Record: newBloom(fmt.Sprint("k", i), 16<<20*8*100/1103)}
		d.Do([]*door.Op{op})
		touch16(d, op)
	}
	if err := d.Snapshot(); err != nil {
		b.Fatal(err)
	}
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("bytes=1GiB", func(b *testing.B) {
		for range b.N {
			_, d := openBench(b, dir, "no")
			if err := d.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/start")
	})
}

func touch16(d *local.Door, op *door.Op) {
	a := newAdder(d, 1, op.Result.Entry.ID, contents.PartOf(op.Result.Entry))
	for range 1000 {
		a.run()
	}
}

// BenchmarkReplay is a start that replays a log of additions in runs of 16.
func BenchmarkReplay(b *testing.B) {
	const runs = 250_000
	dir := b.TempDir()
	_, d := openBench(b, dir, "no")
	id, part := makeLarge(b, d, 64<<20)
	a := newAdder(d, 1, id, part)
	for range runs {
		a.run()
	}
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("bytes=64MiB", func(b *testing.B) {
		for range b.N {
			_, d := openBench(b, dir, "no")
			if err := d.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(16*runs*float64(b.N)/b.Elapsed().Seconds(), "adds/s")
	})
}

// BenchmarkNames is snapshot and start of very many small filters, and how long
// nobody could make another one.
func BenchmarkNames(b *testing.B) {
	const names = 300_000
	dir := b.TempDir()
	_, d := openBench(b, dir, "no")
	for i := range names {
		d.Do([]*door.Op{{Record: newBloom(fmt.Sprint("name", i), 100)}})
	}
	stop, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for {
			select {
			case <-stop:
				longest <- most
				return
			default:
			}
			began := time.Now()
			d.Do([]*door.Op{{Record: store.Record{Body: &store.Set{String: store.String{Name: []byte("s")}}}}})
			most = max(most, time.Since(began))
			time.Sleep(100 * time.Microsecond)
		}
	}()
	var took [2]time.Duration // of a snapshot of all, and of one of what changed: nothing
	for i := range took {
		began := time.Now()
		if err := d.Snapshot(); err != nil {
			b.Fatal(err)
		}
		took[i] = time.Since(began)
	}
	close(stop)
	wait := <-longest
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		_, d := openBench(b, dir, "no")
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/start")
	b.ReportMetric(took[0].Seconds(), "s/snapshot")
	b.ReportMetric(took[1].Seconds(), "s/clean-snapshot")
	b.ReportMetric(float64(wait.Microseconds())/1000, "max-ms")
}
