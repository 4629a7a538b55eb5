package library

import "github.com/bloomery/bloomery/bloom"

// concurrent is bloom.Concurrent. It is written and read as a bloom.Filter.
func concurrent() Library {
	return Library{
		Name:   "bloom.Concurrent",
		Ours:   true,
		Large:  true,
		Lowest: 1e-4, // its bits are those of bloom.Filter, which is measured at all rates
		Make: func(n int64, p float64) (Filter, error) {
			f, err := bloom.Config{Capacity: int(n), ErrorRate: p}.NewConcurrent()
			if err != nil {
				return Filter{}, err
			}
			return ours(f), nil
		},
		Array: func(bytes, k int) (Array, bool) {
			f, err := bloom.Config{Bits: uint64(bytes) * 8, Hashes: k}.NewConcurrent()
			if err != nil {
				return Array{}, false
			}
			return Array{
				Words: Memory(f, "blocks"),
				Hashes: map[Call]func([]bool, []uint64){
					HasBatch:   f.ContainsHashes,
					AddBatch:   func(_ []bool, hs []uint64) { f.AddHashes(nil, hs) },
					AddAnswers: f.AddHashes,
					HasOne: func(dst []bool, hs []uint64) {
						for i, h := range hs {
							dst[i] = f.ContainsHash(h)
						}
					},
					AddOne: func(_ []bool, hs []uint64) {
						for _, h := range hs {
							f.AddHash(h)
						}
					},
				},
			}, true
		},
	}
}
