package library

import "github.com/greatroar/blobloom"

// syncFilter is blobloom.SyncFilter, which many goroutines may use at once.
func syncFilter() Library {
	return Library{
		Name:   "blobloom.SyncFilter",
		Module: "github.com/greatroar/blobloom",
		Array: func(bytes, k int) (Array, bool) {
			f := blobloom.NewSync(uint64(bytes)*8, k)
			return Array{
				Words: Memory(f, "b"),
				Hashes: map[Call]func([]bool, []uint64){
					HasOne: func(dst []bool, hs []uint64) {
						for i, h := range hs {
							dst[i] = f.Has(h)
						}
					},
					AddOne: func(_ []bool, hs []uint64) {
						for _, h := range hs {
							f.Add(h)
						}
					},
				},
			}, true
		},
	}
}
