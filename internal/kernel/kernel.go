package kernel

//go:generate go run probes.go
//go:generate go -C gen run . -file avx512 -out ../avx512_amd64.s -stubs ../avx512_amd64.go -pkg kernel
//go:generate go -C gen run . -file avx2 -out ../avx2_amd64.s -stubs ../avx2_amd64.go -pkg kernel
//go:generate go -C gen run . -file generations -out ../generations_amd64.s -stubs ../generations_amd64.go -pkg kernel
//go:generate go -C gen run . -file single -out ../single_amd64.s -stubs ../single_amd64.go -pkg kernel
//go:generate go -C gen run . -file split -out ../split_amd64.s -stubs ../split_amd64.go -pkg kernel
//go:generate go -C gen run . -file rows -out ../rows_amd64.s -stubs ../rows_amd64.go -pkg kernel
//go:generate go -C gen run . -file buckets -out ../buckets_amd64.s -stubs ../buckets_amd64.go -pkg kernel
//go:generate go -C gen run . -file ahead -out ../ahead_amd64.s -stubs ../ahead_amd64.go -pkg kernel
//go:generate go -C gen run . -file marks -out ../marks_amd64.s -stubs ../marks_amd64.go -pkg kernel

const (
	badK   = "kernel: k is not in 1..16"
	badDst = "kernel: dst is shorter than hs"
	badRow = "kernel: a row has 1 to 16 words"

	noBlocks = "kernel: there are no blocks"
)

// chunk is the number of keys after which a batch comes back to Go: assembly
// cannot be preempted, and 4096 keys take about 50 µs.
const chunk = 4096

// group is the number of keys that the assembly takes together. What is left
// of a batch goes key by key.
const group = 8

// Tier returns what the functions of this package run on: "avx512", "avx2" or
// "go". GODEBUG=cpu.avx512f=off and GODEBUG=cpu.avx2=off,cpu.avx512f=off choose
// the lower ones.
func Tier() string {
	switch {
	case hasAVX512:
		return "avx512"
	case hasAVX2:
		return "avx2"
	}
	return "go"
}

// Has reports whether all k bits of h are set. It panics if blocks is empty
// or k is not in 1..MaxK.
func Has(blocks []Block, k int, h uint64) bool { return hasOne(blocks, k, h) }

// Set sets the k bits of h and reports whether one of them was clear. It
// panics as Has does.
func Set(blocks []Block, k int, h uint64) bool { return setOne(blocks, k, h) }

// HasAll sets dst[i] to Has(blocks, k, hs[i]). It panics as Has does, and if
// dst is shorter than hs.
func HasAll(dst []bool, blocks []Block, k int, hs []uint64) {
	checkAll(blocks, k)
	if len(dst) < len(hs) {
		panic(badDst)
	}
	if !vector(blocks) {
		goHasAll(dst, blocks, k, hs)
		return
	}
	for len(hs) >= group {
		n := min(len(hs), chunk) &^ (group - 1)
		hasGroups(dst[:n], blocks, k, hs[:n])
		dst, hs = dst[n:], hs[n:]
	}
	for i, h := range hs {
		dst[i] = hasOne(blocks, k, h)
	}
}

// SetAll sets dst[i] to Set(blocks, k, hs[i]), in order. A nil dst is ignored.
// It panics as Has does, and if dst is not nil and shorter than hs.
func SetAll(dst []bool, blocks []Block, k int, hs []uint64) {
	checkAll(blocks, k)
	if dst == nil {
		setAll(blocks, k, hs)
		return
	}
	if len(dst) < len(hs) {
		panic(badDst)
	}
	if !vector(blocks) {
		goSetAll(dst, blocks, k, hs)
		return
	}
	for len(hs) >= group {
		n := min(len(hs), chunk) &^ (group - 1)
		setGroupsFresh(dst[:n], blocks, k, hs[:n])
		dst, hs = dst[n:], hs[n:]
	}
	for i, h := range hs {
		dst[i] = setOne(blocks, k, h)
	}
}

// setAll is SetAll without answers.
func setAll(blocks []Block, k int, hs []uint64) {
	if !vector(blocks) {
		goSetAllQuiet(blocks, k, hs)
		return
	}
	for len(hs) >= group {
		n := min(len(hs), chunk) &^ (group - 1)
		setGroups(blocks, k, hs[:n])
		hs = hs[n:]
	}
	for _, h := range hs {
		setOne(blocks, k, h)
	}
}

// goSetAllQuiet throws the answers away; without them the Go loops would gain
// nothing.
func goSetAllQuiet(blocks []Block, k int, hs []uint64) {
	var none [chunk]bool
	for len(hs) > 0 {
		n := min(len(hs), chunk)
		goSetAll(none[:], blocks, k, hs[:n])
		hs = hs[n:]
	}
}

// vector reports whether a batch runs in assembly, which takes block numbers
// of 32 bits only, enough for 256 GiB.
func vector(blocks []Block) bool {
	return (hasAVX512 || hasAVX2) && uint64(len(blocks)) < 1<<32
}

// checkAll panics where goHas and goSet would, before a batch has done
// anything, and also if the batch is empty.
func checkAll(blocks []Block, k int) {
	if uint(k-1) >= MaxK {
		panic(badK)
	}
	_ = blocks[0]
}
