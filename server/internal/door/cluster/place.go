package cluster

// Which record goes through which lane.

import (
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// partLane returns the lane of a part. It never changes in the life of the part, and
// never in the life of the cluster: every node computes it alike.
func (d *Door) partLane(id uint64, index uint32) *lane {
	e := d.state.Names.ByID(id)
	return d.laneAt(id, index, e != nil && contents.Everywhere(e))
}

// laneAt is partLane for a caller who knows whether every node holds the filter.
func (d *Door) laneAt(id uint64, index uint32, wide bool) *lane {
	all := d.all()
	return all[laneNumber(len(all)-2, id, index, wide)]
}

// laneNumber returns the number of the lane of a part in a cluster with so many lanes
// for parts, and a wide one.
func laneNumber(lanes int, id uint64, index uint32, wide bool) int {
	if wide {
		return lanes + 1
	}
	return int(1 + mix(id+uint64(index))%uint64(lanes))
}

// laneOf returns the lane of a record.
func (d *Door) laneOf(r *store.Record) *lane {
	if !r.Part() {
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
