package kernel

//go:generate go run probes.go

const badK = "kernel: k is not in 1..16"

// chunk is the number of keys after which a batch comes back to Go: assembly
// cannot be preempted, and 4096 keys take about 50 µs.
const chunk = 4096

// Has reports whether all k bits of h are set. It panics if blocks is empty
// or k is not in 1..MaxK.
func Has(blocks []Block, k int, h uint64) bool { return goHas(blocks, k, h) }

// Set sets the k bits of h and reports whether one of them was clear.
func Set(blocks []Block, k int, h uint64) bool { return goSet(blocks, k, h) }

// HasAll sets dst[i] to Has(blocks, k, hs[i]). It panics if dst is shorter
// than hs.
func HasAll(dst []bool, blocks []Block, k int, hs []uint64) { goHasAll(dst, blocks, k, hs) }

// SetAll sets dst[i] to Set(blocks, k, hs[i]), in order. A nil dst is ignored.
func SetAll(dst []bool, blocks []Block, k int, hs []uint64) {
	if dst != nil {
		goSetAll(dst, blocks, k, hs)
		return
	}
	var none [chunk]bool
	for len(hs) > chunk {
		goSetAll(none[:], blocks, k, hs[:chunk])
		hs = hs[chunk:]
	}
	goSetAll(none[:], blocks, k, hs)
}
