package bloom

// undecided are the keys of a batch to which no layer has said yes yet.
type undecided struct {
	n   int
	hs  [batch]uint64
	at  [batch]uint8 // their places in the batch
	yes [batch]bool  // answers of one layer
}

// begin takes a batch of at most 256.
func (u *undecided) begin(hs []uint64) {
	u.n = copy(u.hs[:], hs)
	for i := range u.n {
		u.at[i] = uint8(i)
	}
}

// ask asks one layer, notes its answers in found and keeps the keys that it
// does not have, in their order.
func (u *undecided) ask(l *layer, found []bool) {
	l.hasAll(u.yes[:u.n], u.hs[:u.n])
	n := 0
	for i, yes := range u.yes[:u.n] {
		h, at := u.hs[i], u.at[i]
		u.hs[n], u.at[n] = h, at
		found[at] = yes
		if !yes {
			n++
		}
	}
	u.n = n
}

// set adds the first of the keys, at most room, to l and notes in changed
// which of them changed it.
func (u *undecided) set(l *layer, room uint64, changed []bool) {
	n := int(min(room, uint64(u.n)))
	l.setAll(u.yes[:n], u.hs[:n])
	for i, fresh := range u.yes[:n] {
		changed[u.at[i]] = fresh
		if fresh {
			l.items++
		}
	}
	u.n -= n
	copy(u.hs[:u.n], u.hs[n:])
	copy(u.at[:u.n], u.at[n:])
}

// drop leaves out the keys that l has.
func (u *undecided) drop(l *layer) {
	var found [batch]bool
	u.ask(l, found[:])
}
