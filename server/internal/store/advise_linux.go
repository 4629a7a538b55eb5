package store

import "syscall"

// advise asks the system for huge pages for the arrays of a large filter: items
// fall anywhere, and with small pages most probes miss the processor's address
// cache too. It changes where memory is, never what is in it.
func (p *Part) advise() {
	const madvHugePage = 14
	if p.Void() || p.Bytes() < largeArray {
		return
	}
	for iter := int64(1); iter != 0; {
		var chunk []byte
		if iter, chunk = p.contents.ScanDump(iter); len(chunk) >= largeArray {
			_ = syscall.Madvise(chunk, madvHugePage) // advice: a system that does not know it goes on without
		}
	}
}
