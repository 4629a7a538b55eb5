package library

import "github.com/bloomery/bloomery/bloom"

// standard is bloom.Standard.
func standard() Library {
	return Library{
		Name:  "bloom.Standard",
		Ours:  true,
		Large: true,
		Make: func(n int64, p float64) (Filter, error) {
			f, err := bloom.Config{Capacity: int(n), ErrorRate: p}.NewStandard()
			if err != nil {
				return Filter{}, err
			}
			return ours(f), nil
		},
		Decode: func(data []byte) (Filter, error) {
			var f bloom.Standard
			err := f.UnmarshalBinary(data)
			return ours(&f), err
		},
		Hostile: claimTerabytes,
		Array: func(bytes, k int) (Array, bool) {
			f, err := bloom.Config{Bits: uint64(bytes) * 8, Hashes: k}.NewStandard()
			if err != nil {
				return Array{}, false
			}
			return Array{
				Words: Memory(f, "words"),
				Keys: map[Call]func([]bool, [][]byte){
					HasOne: func(dst []bool, keys [][]byte) {
						for i, key := range keys {
							dst[i] = f.Contains(key)
						}
					},
					AddOne: func(_ []bool, keys [][]byte) { f.AddKeys(nil, keys) },
				},
			}, true
		},
	}
}
