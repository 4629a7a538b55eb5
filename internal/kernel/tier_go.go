//go:build !amd64 || purego || race

package kernel

// Without assembly the choices of kernel.go are constant, and the compiler
// drops what would call these functions.
const (
	hasAVX512 = false
	hasAVX2   = false
)

const noAssembly = "kernel: built without assembly"

func hasGroups([]bool, []Block, int, []uint64)      { panic(noAssembly) }
func setGroupsFresh([]bool, []Block, int, []uint64) { panic(noAssembly) }
func setGroups([]Block, int, []uint64)              { panic(noAssembly) }
func markGroups([]uint8, []Block, int, []uint64)    { panic(noAssembly) }

func (*Generations) findGroups([]bool, int, []uint64) { panic(noAssembly) }

func hasGroupsSplit([]bool, []SplitBlock, []uint64)      { panic(noAssembly) }
func setGroupsFreshSplit([]bool, []SplitBlock, []uint64) { panic(noAssembly) }
func setGroupsSplit([]SplitBlock, []uint64)              { panic(noAssembly) }
func markGroupsSplit([]uint8, []SplitBlock, []uint64)    { panic(noAssembly) }
func hasGroupsBuckets([]bool, *Buckets, []uint64)        { panic(noAssembly) }
func andRowsVector(_, _, _ []uint64)                     { panic(noAssembly) }

func ahead3BMI2(*byte, uint64, uint64, uint64, *uint64, int) { panic(noAssembly) }
func ahead4BMI2(*byte, uint64, uint64, uint64, *uint64, int) { panic(noAssembly) }
func aheadBitsBMI2(*byte, uint64, uint64, *uint64, int, int) { panic(noAssembly) }
func aheadAtBMI2(*byte, *uint64, int)                        { panic(noAssembly) }
func marksAVX2(*uint64, *byte, int, *byte)                   { panic(noAssembly) }

func hasOneSplit(blocks []SplitBlock, h uint64) bool { return goHasSplit(blocks, h) }
func setOneSplit(blocks []SplitBlock, h uint64) bool { return goSetSplit(blocks, h) }

func hasOne(blocks []Block, k int, h uint64) bool { return goHas(blocks, k, h) }
func setOne(blocks []Block, k int, h uint64) bool { return goSet(blocks, k, h) }
