package shards

const (
	digit = 8 // bits that one pass of Sort looks at
	// small is the length from which on a pass is dearer than an insertion
	// sort.
	small = 40
)

// Dedupe sorts hashes in place and returns them without duplicates. These are
// behind the result: the slice is the caller's, who may build from it again.
func Dedupe(hashes []uint64) []uint64 {
	Sort(hashes)
	n := 0
	for i, h := range hashes {
		if n > 0 && h == hashes[n-1] {
			continue
		}
		hashes[i], hashes[n] = hashes[n], h
		n++
	}
	return hashes[:n]
}

// Sort sorts hashes in place, from the top digit down. Well-mixed hashes take
// about log(n)/log(256) passes, the worst ones 8.
func Sort(hashes []uint64) { sortFrom(hashes, 64-digit) }

// sortFrom sorts hashes that are equal above the digit at shift.
func sortFrom(hashes []uint64, shift uint) {
	if len(hashes) <= small {
		insertionSort(hashes)
		return
	}
	var ends, at [1 << digit]int
	for _, h := range hashes {
		ends[h>>shift&(1<<digit-1)]++
	}
	sum := 0
	for i, n := range ends {
		at[i] = sum
		sum += n
		ends[i] = sum
	}
	// Each hash is carried to its place, and the one that lay there carried
	// on, until the circle closes.
	for i := range at {
		for at[i] < ends[i] {
			h := hashes[at[i]]
			for to := h >> shift & (1<<digit - 1); int(to) != i; to = h >> shift & (1<<digit - 1) {
				h, hashes[at[to]] = hashes[at[to]], h
				at[to]++
			}
			hashes[at[i]] = h
			at[i]++
		}
	}
	if shift == 0 {
		return
	}
	from := 0
	for _, to := range ends {
		if to-from > 1 {
			sortFrom(hashes[from:to], shift-digit)
		}
		from = to
	}
}

func insertionSort(hashes []uint64) {
	for i := 1; i < len(hashes); i++ {
		h, j := hashes[i], i
		for ; j > 0 && hashes[j-1] > h; j-- {
			hashes[j] = hashes[j-1]
		}
		hashes[j] = h
	}
}
