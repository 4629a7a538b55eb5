package cluster

// Which record goes through which lane.

import "github.com/bloomery/bloomery/server/internal/store"

// partLane returns the lane of a part. It never changes in the life of the part, and
// never in the life of the cluster: every node computes it alike.
func (d *Door) partLane(id uint64, index uint32) *lane {
	e := d.state.Names.ByID(id)
	return d.laneAt(id, index, e != nil && store.Everywhere(e))
}

// laneAt is partLane for a caller who knows whether every node holds the filter.
func (d *Door) laneAt(id uint64, index uint32, wide bool) *lane {
	all := d.all()
	if wide {
		return all[len(all)-1]
	}
	return all[1+mix(id+uint64(index))%uint64(len(all)-2)]
}

// laneOf returns the lane of a record.
func (d *Door) laneOf(r *store.Record) *lane {
	if !r.Op.Part() {
		return d.catalogue()
	}
	return d.partLane(r.ID, r.Index)
}

// mix spreads numbers that follow each other: the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// LaneOf returns the number of the lane of a part.
func (d *Door) LaneOf(id uint64, index uint32) int { return d.partLane(id, index).number }
