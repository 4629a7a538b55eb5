package store

import "github.com/bloomery/bloomery/internal/memory"

// advise asks the system for huge pages for the arrays of a large filter: items
// fall anywhere, and with small pages most probes miss the processor's address
// cache too. It changes where memory is, never what is in it.
func (p *Part) advise() {
	if p.Void() || p.Bytes() < largeArray {
		return
	}
	for iter := int64(1); iter != 0; {
		var chunk []byte
		iter, chunk = p.contents.ScanDump(iter)
		memory.Advise(chunk)
	}
}
