package contents

// Outcome is what became of items that contents were given. Bools may be given with memory to
// use; it is made as long as the items.
type Outcome struct {
	// Err is nil if all was done, at least in part.
	Err error
	// Changed reports whether anything is another one now. What has changed nothing need
	// not be kept.
	Changed bool
	// Done is how many items were looked at; fewer than all if Err is that of the next one.
	Done int
	// Bools reports for every item whether it was new, or was there.
	Bools []bool
	// New is how many items were new, of those that were added to bits.
	New int
	// All means that every item up to Done has to be kept, whatever Bools says: inserts,
	// and adds that renew what is there.
	All bool
	// Failed reports for every hash that was added to a filter whether there was no room
	// for it; Err then is the error of the first. It is nil if all had room.
	Failed []bool
	// Torn means that a hash without room has changed the filter all the same: it is
	// logged, and leaves the same when it is replayed.
	Torn bool
	// Marks is where a filter of bits leaves which bits of the hashes were new, if that is noted.
	Marks []uint8
}

// Size makes room in Bools for n items.
func (o *Outcome) Size(n int) {
	if cap(o.Bools) < n {
		o.Bools = make([]bool, n)
	}
	o.Bools = o.Bools[:n]
}

// Fails reports whether the hash at i, of those with an error, is one that the error is for.
func (o *Outcome) Fails(i int) bool { return i >= o.Done || o.Failed != nil && o.Failed[i] }

// Kept reports whether the hash at i, which was looked at, has to be kept.
func (o *Outcome) Kept(i int) bool {
	return (o.All || o.Bools[i]) && (o.Failed == nil || !o.Failed[i] || o.Torn)
}

// Added returns those of hashes, one for each item, whose items were added. Those that were
// there before are among them.
func (o *Outcome) Added(hashes []uint64) []uint64 {
	if hashes = hashes[:o.Done]; o.Failed == nil {
		return hashes
	}
	var list []uint64
	for i, h := range hashes {
		if !o.Failed[i] {
			list = append(list, h)
		}
	}
	return list
}

// Took returns the hashes that have to be kept.
func (o *Outcome) Took(hashes []uint64) []uint64 {
	list := make([]uint64, 0, o.Done)
	for i, h := range hashes[:o.Done] {
		if o.Kept(i) {
			list = append(list, h)
		}
	}
	return list
}
