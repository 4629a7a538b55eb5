package main

import (
	"fmt"

	"github.com/bloomery/bloomery/bench/internal/report"
)

const cppText = `Figures of C++ libraries (fastfilter_cpp 924e560 with gcc 12.2 -O3 -march=native, and lorenzhs/BuRR 812c12f),
	measured once on a machine of this kind but not in these runs, with one mix of a 64-bit key and no hashing of bytes:
	differences below 1.3 at a million keys and below 2 beyond are noise. Our times of cuckoo, counting and quotient filters
	include the hash of an 8-byte key, and the cuckoo filters with ten million keys are 60% full, theirs 94%. Each cell is
	ours over theirs.`

// cpp is what a C++ library was measured with: nanoseconds, as CPU time.
type cpp struct {
	experiment, ours, theirs string
	add                      string // what our insert or build is called
	addNS, missNS, hitNS     float64
	bits                     float64
}

var cpps = []cpp{
	{"counting/n=1000000", oursCounting, "CountingBloom10-addAll", insert, 24.8, 31.2, 22.6, 40.00},
	{"counting/n=1000000", oursCounting, "SuccCountBlockBloom10", insert, 69, 11, 13, 23.60},
	{"cuckoo/n=1000000", oursCuckoo8, "Cuckoo8", insert, 57.8, 8.5, 10.6, 8.51},
	{"cuckoo/n=1000000", oursCuckoo12, "Cuckoo12", insert, 58.8, 14.3, 15.0, 12.77},
	{"cuckoo/n=1000000", oursCuckoo16, "Cuckoo16", insert, 61.0, 14.3, 13.5, 17.02},
	{"cuckoo/n=10000000", oursCuckoo8, "Cuckoo8", insert, 109.7, 19.6, 30.9, 8.51},
	{"cuckoo/n=10000000", oursCuckoo16, "Cuckoo16", insert, 145.7, 23.6, 32.8, 17.02},
	{"quotient/n=1000000", oursQuotient, "CQF", insert, 76.1, 42.5, 45.8, 21.38},
	{"fuse/n=1000000", oursFuse8, "BinaryFuse8-singleheader", buildTime, 59.7, 5.1, 4.8, 9.04},
	{"fuse/n=1000000", oursFuse8x4, "XorBinaryFuse8-4wise", buildTime, 58.8, 8.5, 6.1, 8.62},
	{"fuse/n=10000000", oursFuse8, "BinaryFuse8-singleheader", buildTime, 78.1, 14.6, 13.8, 9.02},
	{"fuse/n=10000000", oursFuse8x4, "XorBinaryFuse8-4wise", buildTime, 70.9, 17.1, 15.7, 8.61},
	{"fuse/n=100000000", oursFuse8, "BinaryFuse8-singleheader", buildTime, 152.9, 59.1, 57.2, 9.01},
	{"fuse/n=100000000", oursFuse8x4, "XorBinaryFuse8-4wise", buildTime, 109.3, 58.7, 64.6, 8.60},
	{"ribbon/n=10000000", ribbon64, "BuRR w=64", buildTime, 162, 59, 69, 8.025},
	{"ribbon/n=10000000", ribbon128, "BuRR w=128", buildTime, 324, 86, 111, 8.008},
}

// cppTable has a row for each figure that we have a counterpart of.
func (d document) cppTable() *report.Table {
	t := &report.Table{Head: []string{"ours", "theirs", "experiment", "add or build", "miss", "miss in a batch", "hit", "hit in a batch", "bits per key"}}
	for _, c := range cpps {
		r, ok := d.records[c.experiment]
		if !ok {
			continue
		}
		row := []string{c.ours, c.theirs, c.experiment}
		for _, x := range []struct {
			what   string
			theirs float64
		}{
			{c.add, c.addNS},
			{single + ", misses", c.missNS},
			{batch + ", misses", c.missNS},
			{single + ", hits", c.hitNS},
			{batch + ", hits", c.hitNS},
			{bits, c.bits},
		} {
			row = append(row, share(r.find(c.ours, x.what), x.theirs))
		}
		t.Row(row...)
	}
	return t
}

// share writes a ratio, "-" if there is none.
func share(ours, theirs float64) string {
	if ours == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", ours/theirs)
}
