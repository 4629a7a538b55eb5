package cluster

// What a node fetches where contents are spread: all but the contents of shards.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
)

// bare leaves the contents of shards out of a snapshot that another node is to fetch. It learns
// those that it is to hold, part by part: what this node holds may be more than it has room for. The
// error is errNotYet if the snapshot is from before contents were spread: then the next one is begun.
func (d *Door) bare(held *snapshot.Held) error {
	if !d.state.Roster().Spread() {
		return nil
	}
	roster, _, _, err := laneStates(held.Manifest)
	if err != nil {
		return err
	}
	if !roster.Spread() {
		_ = d.StartSnapshot() // or one is being taken
		return errNotYet
	}
	d.leaveShards(held.Manifest)
	in := &folder.Memory{}
	if err := held.Manifest.Install(in); err != nil {
		return err
	}
	manifest, err := in.Open(folder.Manifest)
	if err != nil {
		return err
	}
	names, readers, needed := held.Names[:1], []folder.Reader{manifest}, held.Manifest.Files()
	for i, r := range held.Readers {
		number, part := folder.ParsePartName(held.Names[i])
		if _, need := needed[number]; part && need {
			names, readers = append(names, held.Names[i]), append(readers, r)
			continue
		}
		err = errors.Join(err, r.Close())
	}
	held.Names, held.Readers = names, readers
	return err
}

// leaveShards has m say of all contents of shards that other nodes hold them. Of a filter that was
// removed meanwhile the log says so.
func (d *Door) leaveShards(m *snapshot.Manifest) {
	var e *catalog.Entry
	first := uint64(0)
	for i := range m.Items {
		it := &m.Items[i]
		if it.Kind != catalog.FilterPart {
			first, e = it.ID, d.state.Names.ByID(it.ID)
		}
		switch {
		case it.Kind == catalog.String || !it.InFile():
		case e == nil:
			it.Gone = true
		case !contents.Everywhere(e):
			if p := contents.PartAt(e, uint32(it.ID-first)); p != nil && !p.Void() {
				p.RLock()
				it.Leave(p)
				p.RUnlock()
			}
		}
	}
}
