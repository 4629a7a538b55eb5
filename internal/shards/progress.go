package shards

import "sync"

// Progress adds up what several goroutines have done, and reports it.
//
// Safe for concurrent use.
type Progress struct {
	report func(read, built uint64)
	mu     sync.Mutex
	read   uint64
	built  uint64
}

// NewProgress returns a Progress that calls report, which may be nil, in one
// goroutine at a time.
func NewProgress(report func(read, built uint64)) *Progress { return &Progress{report: report} }

// Read reports that n hashes were read in all.
func (p *Progress) Read(n uint64) { p.change(func() { p.read = n }) }

// Built reports that n more hashes are in finished shards.
func (p *Progress) Built(n uint64) { p.change(func() { p.built += n }) }

func (p *Progress) change(f func()) {
	if p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.report(p.read, p.built)
}
