package cluster

// When the log drops what no node needs.

import "time"

// awayFor is for how long a node that is not heard of keeps the log back, unless a
// stream becomes too full. After that it has to fetch a snapshot when it returns, or to learn
// its shards again.
const awayFor = time.Hour

// purge drops what no node needs (I6). It begins with the catalogue: whoever finds that
// whole may rely on the other lanes.
func (d *Door) purge() {
	limits := d.purgeable()
	for i, l := range d.all() {
		if i >= len(limits) || limits[i] <= l.purged {
			continue
		}
		if err := d.config.Log.Purge(l.number, limits[i]+1); err != nil {
			d.config.Slog.Warn("the log cannot be purged", "lane", l.name(), "error", err)
			return
		}
		l.purged = limits[i]
	}
}

// purgeable returns for every lane up to where its messages are in the durable
// snapshots of all nodes that may need them, which are two at least unless there is
// only one. It returns nil if that is not known. Where contents are spread, a node is left out
// only if the catalogue says that it holds nothing: see giveUpAway.
func (d *Door) purgeable() []uint64 {
	roster, own := d.state.Roster(), d.number.Load()
	heard := map[uint32]heard{}
	for _, v := range d.beats.all() {
		heard[v.Node] = v
	}
	var limits []uint64
	for _, l := range d.all() {
		limits = append(limits, l.kept.Load())
	}
	members, live := 0, 0
	for i := range roster.Members {
		m := &roster.Members[i]
		if m.Left {
			continue
		}
		members++
		if m.Number == own {
			live++
			continue
		}
		v, ok := heard[m.Number]
		switch silent := d.tick() - v.seen; {
		case ok && silent <= liveFor:
			live++
		case roster.Spread() && m.Behind, !roster.Spread() && silent > awayFor:
			continue
		case !ok:
			return nil // it may need anything
		case !roster.Spread() && d.fills(v.Kept):
			continue
		}
		for lane := range limits {
			if lane >= len(v.Kept) {
				return nil
			}
			limits[lane] = min(limits[lane], v.Kept[lane])
		}
	}
	if live < min(2, members) || limits[0] == 0 {
		return nil
	}
	return limits
}

// fills reports whether a stream is half full of what a node has not kept: the writes of
// all count for more than the time that one node takes to return.
func (d *Door) fills(kept []uint64) bool {
	for i, l := range d.all() {
		if d.config.LaneBytes > 0 && i < len(kept) && l.behind(kept[i]) > d.config.LaneBytes/2 {
			return true
		}
	}
	return false
}
