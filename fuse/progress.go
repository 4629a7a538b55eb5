package fuse

import "sync"

// progress adds up what several goroutines have done.
type progress struct {
	report func(read, built uint64)
	mu     sync.Mutex
	read   uint64
	built  uint64
}

// add reports that n more hashes are in finished shards.
func (p *progress) add(n uint64) {
	if p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.built += n
	p.report(p.read, p.built)
}

// seen reports that n hashes were read.
func (p *progress) seen(n uint64) {
	p.mu.Lock()
	p.read = n
	p.mu.Unlock()
	p.add(0)
}
