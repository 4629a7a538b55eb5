package teach

// The kinds that can be shown.

import (
	"strings"

	"github.com/bloomery/bloomery/bloom"
)

// Kind is a kind of filter that can be shown.
type Kind struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	About string `json:"about"`
	Cell  string `json:"cell"`
	// Sizes are the numbers of cells to choose from, and Bits the default.
	Sizes []int `json:"sizes"`
	Bits  int   `json:"bits"`
	// Hashes is the default between MinHashes and MaxHashes; all are 0 for kinds
	// that choose for themselves.
	MinHashes int `json:"min_hashes"`
	MaxHashes int `json:"max_hashes"`
	Hashes    int `json:"hashes"`
	// MaxKeys is how many keys a scene may add.
	MaxKeys int `json:"max_keys"`

	open func(bits, hashes int) (machine, error)
}

var bitSizes = []int{256, 512, 1024, 2048, 4096}

var kinds = []Kind{
	{
		Name: "standard", Title: "Standard", Cell: "bit", Sizes: bitSizes, Bits: 256, MinHashes: 1, MaxHashes: 16, Hashes: 4, MaxKeys: MaxKeys,
		About: "The textbook's filter: a key sets a few bits anywhere in the array. A key is asked for by reading the same bits. One 0 among them is proof that it was never inserted.",
		open:  bitFilters("array", bloom.Config.NewStandard),
	},
	{
		Name: "blocked", Title: "Blocked", Cell: "bit", Sizes: bitSizes[1:], Bits: 2048, MinHashes: 1, MaxHashes: 16, Hashes: 6, MaxKeys: MaxKeys,
		About: "bloom.Filter, the default: all bits of a key lie in one block of 512 bits, which is one cache line, so a lookup costs one memory access. Some blocks get more keys than others; the size allows for it.",
		open:  bitFilters("block", bloom.Config.New),
	},
	{
		Name: "partitioned", Title: "Partitioned", Cell: "bit", Sizes: bitSizes, Bits: 512, MinHashes: 1, MaxHashes: 16, Hashes: 4, MaxKeys: MaxKeys,
		About: "The array is cut into as many slices as a key has bits, and a key sets one bit in each: no two of its bits can be the same.",
		open:  bitFilters("slice", bloom.Config.NewPartitioned),
	},
	{
		Name: "counting", Title: "Counting", Cell: "counter", Sizes: bitSizes[1:4], Bits: 512, MinHashes: 1, MaxHashes: 16, Hashes: 4, MaxKeys: MaxKeys,
		About: "Each bit has a counter beside it: how many keys have set it. To delete a key is to count down; a bit whose counter comes to 0 is cleared. Deleting a key that was never inserted counts down what belongs to others.",
		open:  newCounters,
	},
	{
		Name: "scalable", Title: "Scalable", Cell: "bit", Sizes: []int{512}, Bits: 512, MaxKeys: layeredKeys,
		About: "When a layer has all the keys that it was made for, another one of twice the capacity is put on top. New keys go to the newest layer, and a lookup asks all of them.",
		open:  newLayers,
	},
	{
		Name: "cuckoo", Title: "Cuckoo", Cell: "slot", Sizes: []int{64, 128, 256, 512}, Bits: 64, MaxKeys: MaxKeys,
		About: "A slot holds the fingerprint of a key, 8 bits, written here as two hexadecimal digits. A key has two buckets of 4 slots. If both are full, fingerprints move to their other bucket until there is room. Keys can be deleted.",
		open:  newBuckets,
	},
	{
		Name: "window", Title: "Window", Cell: "bit", Sizes: []int{256}, Bits: 256, MaxKeys: MaxKeys,
		About: "Time is cut into generations, each with an array of its own. Keys are added to the present one, and a lookup asks all of them. When time moves on, the oldest is cleared whole: its keys are forgotten together.",
		open:  newGenerations,
	},
	{
		Name: "corrected", Title: "Corrected", Cell: "bit", Sizes: []int{16, 256}, Bits: 256, MinHashes: 1, MaxHashes: 8, Hashes: 2, MaxKeys: 200,
		About: "A filter that is told of its false positives, and does not repeat them. After a yes, a store that has all keys is asked; a key that it does not have is reported. A report is held until its key is inserted, or until there is no room: here for two, then the older half goes.",
		open:  newCorrections,
	},
	{
		Name: "parts", Title: "Parts", Cell: "bit", Sizes: []int{1024}, Bits: 1024, MinHashes: 1, MaxHashes: 16, Hashes: 4, MaxKeys: MaxKeys,
		About: "A large filter is cut into parts, and the hash of a key decides which part has it. A lookup asks that part alone, and different parts can be changed at the same time, on one machine or on several.",
		open:  newParts,
	},
	{
		Name: "beside", Title: "Blocked beside standard", Cell: "bit", Sizes: []int{1024}, Bits: 1024, MinHashes: 1, MaxHashes: 16, Hashes: 5, MaxKeys: MaxKeys,
		About: "The same keys in both. In the standard filter the bits of a key lie anywhere: each is a memory access. In the blocked one they lie in one block, a cache line: one access. Some blocks get more keys than others, so it needs a little more memory for the same rate.",
		open:  newBeside,
	},
}

// Kinds returns the kinds that can be shown.
func Kinds() []Kind { return append([]Kind(nil), kinds...) }

func kindNamed(name string) (*Kind, error) {
	var names []string
	for i := range kinds {
		if kinds[i].Name == name {
			return &kinds[i], nil
		}
		names = append(names, kinds[i].Name)
	}
	return nil, fault("kind", "%q is not one of %s", clip(name), strings.Join(names, ", "))
}
