package roster

// The bytes of a roster.

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// lastVersion is the first byte of an encoded roster that has shadows. One of version 3 has
// none, one of version 2 no shards either, and one of version 1 no list of filters without a name.
const lastVersion = 4

// Append appends the encoding of r to b.
func Append(b []byte, r *Roster) []byte {
	version := byte(lastVersion) // earlier releases read the others
	switch {
	case len(r.Rebuilds) > 0:
	case r.Shards != nil:
		version = 3
	default:
		version = 2
	}
	b = append(b, version)
	for _, v := range []uint64{r.ID, uint64(r.Lanes), r.Level, r.Sessions, uint64(len(r.Members))} {
		b = binary.AppendUvarint(b, v)
	}
	for i := range r.Members {
		m := &r.Members[i]
		b = wire.AppendBytes(b, m.Name)
		b = wire.AppendBytes(b, m.Addr)
		b = binary.AppendUvarint(b, m.Level)
		b = binary.AppendVarint(b, m.Joined)
		b = binary.AppendUvarint(b, m.Session)
		b = binary.AppendVarint(b, m.Nonce)
		b = append(b, flag(m.Left))
	}
	for _, nodes := range r.Holders {
		b = binary.AppendUvarint(b, uint64(len(nodes)))
		for _, n := range nodes {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(r.Staged)))
	for _, v := range r.Staged {
		b = binary.AppendUvarint(b, v.ID)
		b = binary.AppendUvarint(b, v.Session)
	}
	if version > 3 {
		b = appendRebuilds(b, r.Rebuilds)
		if r.Shards == nil {
			return append(b, 0)
		}
		b = append(b, 1)
	}
	if r.Shards != nil {
		b = appendShards(b, r)
	}
	return b
}

// Parse reads what Append wrote and returns what is behind it. The error
// wraps bloomery.ErrCorrupt or bloomery.ErrVersion.
func Parse(b []byte) (r *Roster, rest []byte, err error) {
	d := wire.Reader{Rest: b}
	version := d.Byte()
	if !d.Bad && (version < 1 || version > lastVersion) {
		return nil, nil, fmt.Errorf("roster: %w: roster of version %d, this release reads up to %d: a later one is needed", bloomery.ErrVersion, version, lastVersion)
	}
	r = &Roster{ID: d.Uvarint()}
	lanes := d.Uvarint()
	r.Level, r.Sessions = d.Uvarint(), d.Uvarint()
	members := d.Uvarint()
	if d.Bad || r.ID == 0 || lanes < 1 || lanes > MaxLanes || members > MaxMembers {
		return nil, nil, corrupt("roster")
	}
	r.Lanes = int(lanes)
	for i := uint64(0); i < members && !d.Bad; i++ {
		m := Member{Number: uint32(i + 1), Name: string(d.Bytes()), Addr: string(d.Bytes())}
		m.Level, m.Joined, m.Session, m.Nonce = d.Uvarint(), d.Varint(), d.Uvarint(), d.Varint()
		m.Left = d.Byte() != 0
		r.Members = append(r.Members, m)
	}
	r.Holders = make([][]uint32, lanes+2)
	for i := range r.Holders {
		n := d.Uvarint()
		if n > members {
			return nil, nil, corrupt("holders of a lane")
		}
		for ; n > 0 && !d.Bad; n-- {
			r.Holders[i] = append(r.Holders[i], uint32(d.Uvarint()))
		}
	}
	if version > 1 {
		for n := d.Uvarint(); n > 0 && !d.Bad; n-- {
			r.Staged = append(r.Staged, StagedBy{d.Uvarint(), d.Uvarint()})
		}
	}
	spread := version == 3
	if version > 3 {
		r.Rebuilds = readRebuilds(&d)
		spread = d.Byte() == 1
	}
	if spread {
		if err := readShards(&d, r); err != nil {
			return nil, nil, err
		}
	}
	if d.Bad {
		return nil, nil, corrupt("roster cut short")
	}
	return r, d.Rest, nil
}

// appendShards appends the encoding of the table, and of what members have besides.
func appendShards(b []byte, r *Roster) []byte {
	s := r.Shards
	b = append(b, byte(s.Copies), flag(s.Paused))
	b = binary.AppendUvarint(b, s.Settings)
	b = binary.AppendUvarint(b, s.Changes)
	for i := range r.Members {
		b = append(b, byte(r.Members[i].Weight), flag(r.Members[i].Behind))
	}
	for _, p := range s.Places {
		b = binary.AppendUvarint(b, p.Version)
		b = binary.AppendUvarint(b, uint64(len(p.Copies)))
		for _, c := range p.Copies {
			b = binary.AppendUvarint(b, uint64(c.Node))
			b = append(b, byte(c.Phase))
			b = binary.AppendUvarint(b, c.Since)
		}
	}
	return b
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// readShards reads what appendShards wrote.
func readShards(d *wire.Reader, r *Roster) error {
	s := &Shards{Copies: int(d.Byte()), Paused: d.Byte() != 0, Settings: d.Uvarint(), Changes: d.Uvarint()}
	if s.Copies != 0 && !validCopies(uint64(s.Copies)) {
		return corrupt("number of copies")
	}
	for i := range r.Members {
		m := &r.Members[i]
		m.Weight, m.Behind = placement.Weight(d.Byte()), d.Byte() != 0
		if m.Weight > placement.MaxWeight {
			return corrupt("weight of a node")
		}
	}
	if s.Copies > 0 {
		s.Places = make([]Place, placement.Shards)
	}
	for i := range s.Places {
		s.Places[i] = readPlace(d)
		if !s.Places[i].valid(s.Changes, len(r.Members)) {
			return corrupt("place of a shard")
		}
	}
	r.Shards = s
	return nil
}

// readPlace reads the place of a shard.
func readPlace(d *wire.Reader) Place {
	p := Place{Version: d.Uvarint()}
	for n := d.Uvarint(); n > 0 && !d.Bad; n-- {
		p.Copies = append(p.Copies, Copy{Node: uint32(min(d.Uvarint(), MaxMembers+1)), Phase: Phase(d.Byte()), Since: d.Uvarint()})
	}
	return p
}

// valid reports whether records could have made the place.
func (p *Place) valid(changes uint64, members int) bool {
	last := uint32(0)
	for _, c := range p.Copies {
		if c.Node <= last || uint64(c.Node) > uint64(members) || c.Phase < Learns || c.Phase > Retires || c.Since > p.Version {
			return false
		}
		last = c.Node
	}
	return p.Version <= changes && p.Count(Learns) <= 1
}

// appendRebuilds appends what the catalogue says of shadows.
func appendRebuilds(b []byte, list []Rebuild) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		flags := byte(0)
		if v.Ready {
			flags |= rebuildReady
		}
		if v.Broken {
			flags |= rebuildBroken
		}
		b = append(b, flags)
		for _, n := range []uint64{v.ID, v.Main, v.Attempts, v.Attempt, v.By} {
			b = binary.AppendUvarint(b, n)
		}
		b = wire.AppendBytes(b, v.Name)
	}
	return b
}

const (
	rebuildReady = 1 << iota
	rebuildBroken
	rebuildFlags
)

// readRebuilds reads what appendRebuilds wrote.
func readRebuilds(d *wire.Reader) (list []Rebuild) {
	last := uint64(0)
	for n := d.Uvarint(); n > 0 && !d.Bad; n-- {
		flags := d.Byte()
		v := Rebuild{
			ID: d.Uvarint(), Main: d.Uvarint(), Attempts: d.Uvarint(), Attempt: d.Uvarint(), By: d.Uvarint(), Name: string(d.Bytes()),
			Ready: flags&rebuildReady != 0, Broken: flags&rebuildBroken != 0,
		}
		if flags >= rebuildFlags || v.ID <= last || v.Attempt > v.Attempts || (v.Main == 0) == (v.Name == "") {
			d.Bad = true
		}
		last = v.ID
		list = append(list, v)
	}
	return list
}

func corrupt(what string) error { return fmt.Errorf("roster: %w: %s", bloomery.ErrCorrupt, what) }
