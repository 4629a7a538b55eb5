package bloom_test

import (
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
)

// Whatever changes a Concurrent waits for the locks and changes nothing before
// it has them.
func TestConcurrentWaitsForLocks(t *testing.T) {
	hs := hashes(1000, 1)
	other := bloom.New(10_000, 0.01)
	other.AddHashes(nil, hs)
	for name, change := range map[string]func(c *bloom.Concurrent){
		"AddHash":           func(c *bloom.Concurrent) { c.AddHash(hs[0]) },
		"AddHashes":         func(c *bloom.Concurrent) { c.AddHashes(nil, hs) },
		"AddHashes answers": func(c *bloom.Concurrent) { c.AddHashes(make([]bool, len(hs)), hs) },
		"AddHashes of few":  func(c *bloom.Concurrent) { c.AddHashes(nil, hs[:3]) },
		"Union": func(c *bloom.Concurrent) {
			if err := c.Union(other); err != nil {
				t.Error(err)
			}
		},
		"Clear": func(c *bloom.Concurrent) { c.Clear() },
	} {
		c := bloom.NewConcurrent(10_000, 0.01)
		before := c.EstimateCount()
		if name == "Clear" {
			c.AddHashes(nil, hs)
			before = c.EstimateCount()
		}
		bloom.LockAll(c)
		done := make(chan struct{})
		go func() {
			change(c)
			close(done)
		}()
		select {
		case <-done:
			t.Errorf("%s does not wait for the locks", name)
		case <-time.After(5 * time.Millisecond):
		}
		if got := c.EstimateCount(); got != before {
			t.Errorf("%s changes the filter without the locks: %d keys, were %d", name, got, before)
		}
		bloom.UnlockAll(c)
		<-done
		if got := c.EstimateCount(); got == before {
			t.Errorf("%s changed nothing", name)
		}
	}
}

// Adders, unions and readers at once lose no key, and of several adders of one
// key exactly one gets true, in filters so small that all meet in few lines.
func TestConcurrentStress(t *testing.T) {
	const workers, rounds, n = 4, 300, 64
	for round := range uint64(rounds) {
		c := bloom.NewConcurrent(100, 0.01)
		hs := hashes(n, round)
		united := bloom.New(100, 0.01)
		more := hashes(n, round+rounds)
		united.AddHashes(nil, more)
		var start, wg sync.WaitGroup
		start.Add(1)
		fresh := make([][]bool, workers)
		for w := range workers {
			fresh[w] = make([]bool, n)
			wg.Go(func() {
				start.Wait()
				switch w % 2 {
				case 0:
					c.AddHashes(fresh[w], hs)
				default:
					for i, h := range hs {
						fresh[w][i] = c.AddHash(h)
					}
				}
			})
		}
		wg.Go(func() {
			start.Wait()
			if err := c.Union(united); err != nil {
				t.Error(err)
			}
		})
		start.Done()
		wg.Wait()
		for i, h := range hs {
			winners := 0
			for w := range workers {
				if fresh[w][i] {
					winners++
				}
			}
			if winners > 1 {
				t.Fatalf("round %d: %d adders of key %d got true", round, winners, i)
			}
			if !c.ContainsHash(h) || !c.ContainsHash(more[i]) {
				t.Fatalf("round %d: a key is lost", round)
			}
		}
	}
}
