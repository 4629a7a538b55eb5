package cluster

// Copies of a cluster whose contents are spread: what this node lacks is gathered from others.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/snapshot"
)

// The node that makes a copy has every name, and its journal has the records of all parts, for
// every node reads every lane. Of parts that it does not hold, it has another node take a snapshot
// that is not older than its own names and the beginning of its journal:
//
//	journal ── snapshot ── others: snapshots ── as far as those are ── end of the journal ── manifest
//
// Each part then has the place of its lane that its holder has frozen it at, which is a position
// of the journal. A filter that is replaced meanwhile is the old one with the records that remove
// it, or the new one with all its records. The files stay where they are until the client reads
// them, piece by piece, through this node.

const (
	// gatherEvery is how often another node is asked whether its snapshot is there.
	gatherEvery = 100 * time.Millisecond
	// gatherRounds is how often parts that have moved meanwhile are looked for again.
	gatherRounds = 5
)

// gathered is what another node holds for a copy.
type gathered struct {
	node   uint32
	number uint64 // of its hold
	files  []remote
	m      *snapshot.Manifest
	shards shardSet
}

// gather adds to a copy what this node does not hold. It returns when this node has applied all
// that others have.
func (d *Door) gather(src *copySource) error {
	ctx, cancel := context.WithTimeout(context.Background(), savingFor)
	defer cancel()
	var last error
	for round := 0; ; round++ {
		need := src.lacks()
		if need == (shardSet{}) {
			return d.reachAll(src)
		}
		if round == gatherRounds {
			return errors.Join(errMoving, last)
		}
		if last != nil { // a node that has died is heard of no more after some seconds
			if err := d.pause(ctx, liveFor/2); err != nil {
				return errors.Join(err, last)
			}
		}
		from, err := d.choose(&need)
		if err != nil {
			return errors.Join(err, last)
		}
		if slices.ContainsFunc(src.gathered, func(g *gathered) bool { return from[g.node] != nil }) {
			return errors.Join(errTwice, last)
		}
		last = d.gatherFrom(ctx, src, from)
	}
}

var errMoving = errors.New("cluster: no node gives some of the contents: a node may have died, or they are moving; cluster pause-moves stops moves")

// errTwice means that a node that has given files would have to give more, as another one has died, or
// contents have moved: they would have the names of those that it has given. The copy begins again.
var errTwice = errors.New("cluster: a node that holds contents has died, or they move: run it again")

// choose returns a node for each shard that is needed, so that all have about as many.
func (d *Door) choose(need *shardSet) (map[uint32]*shardSet, error) {
	from, count, around := map[uint32]*shardSet{}, map[uint32]int{}, d.lookAround()
	for shard := range placement.Shards {
		if !need.has(shard) {
			continue
		}
		holders := around.holders(shard)
		if len(holders) == 0 {
			return nil, fmt.Errorf("shard %d has no live holder: start one of the nodes that hold it", shard)
		}
		node := slices.MinFunc(holders, func(a, b uint32) int { return count[a] - count[b] })
		if from[node] == nil {
			from[node] = &shardSet{}
		}
		from[node].add(shard)
		count[node]++
	}
	return from, nil
}

// gatherFrom has nodes hold what they have of their shards.
func (d *Door) gatherFrom(ctx context.Context, src *copySource, from map[uint32]*shardSet) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for node, shards := range from {
		wg.Go(func() {
			g, err := d.gatherNode(ctx, node, shards, src.begun)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("node %d: %w", node, err))
				return
			}
			src.gathered = append(src.gathered, g)
			d.tasks.Go(func() { d.keepGathered(g, src.over) })
		})
	}
	wg.Wait()
	for _, g := range src.gathered {
		src.adopt(g)
	}
	return failed
}

// gatherNode has a node take a snapshot and hold it, and reads what is in it.
func (d *Door) gatherNode(ctx context.Context, node uint32, shards *shardSet, places []uint64) (*gathered, error) {
	q := append(question(askGather, uint64(len(places))), question(0, places...)[1:]...)
	q = append(q, shards[:]...)
	for {
		b, err := d.ask(ctx, node, q, peers.MaxBody)
		if err != nil && (strings.Contains(err.Error(), errNotYet.Error()) || strings.Contains(err.Error(), errBehindCopy.Error())) {
			if err := d.pause(ctx, gatherEvery); err != nil {
				return nil, errors.Join(errNotYet, err)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		g := &gathered{node: node, shards: *shards}
		if g.number, g.files, err = parseHold(b); err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := d.fetchFile(ctx, &fetched{node, g.number}, 0, g.files[0].size, &text); err != nil {
			return nil, err
		}
		in := &folder.Memory{}
		in.Put(folder.Manifest, text.Bytes())
		g.m, err = snapshot.Read(in)
		if err == nil && len(g.m.Lanes) != len(places) {
			err = errAnswer
		}
		return g, err
	}
}

// keepGathered keeps what a node holds until the copy is over, and lets go of it then.
func (d *Door) keepGathered(g *gathered, over <-chan struct{}) {
	ticker := time.NewTicker(copyFor / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_, _ = d.ask(context.Background(), g.node, question(askRead, g.number, 0, 0, 0), 0) // if it is gone, whoever reads it is told
			continue
		case <-over:
			_, _ = d.ask(context.Background(), g.node, question(askRelease, g.number), 0) // it ends by itself too
		case <-d.closed:
		}
		return
	}
}

// reachAll returns when this node has applied what the parts of others have: then the journal has
// the records behind them.
func (d *Door) reachAll(src *copySource) error {
	for _, g := range src.gathered {
		for i, l := range d.all() {
			if !l.reach(g.m.Lanes[i].High) {
				return errClosed
			}
		}
	}
	return nil
}

// lacks returns the shards of parts that nobody has given yet.
func (s *copySource) lacks() (need shardSet) {
	for i := range s.taken.Items {
		if it := &s.taken.Items[i]; it.Elsewhere {
			need.add(it.Shard)
		}
	}
	return need
}

// adopt takes parts from another node that this one lacks. What the node has no more was removed
// meanwhile, which the journal will have.
func (s *copySource) adopt(g *gathered) {
	for i := range s.taken.Items {
		it := &s.taken.Items[i]
		if !it.Elsewhere || !g.shards.has(it.Shard) {
			continue
		}
		other := g.m.Find(it.ID)
		switch {
		case other == nil || other.Gone:
			it.Elsewhere, it.Gone, it.About = false, true, nil
		case !other.Elsewhere:
			it.Elsewhere, it.About = false, nil
			it.File, it.Size = fileOf(g.node, other.File), other.Size
			s.places[it.ID] = messages.Place{Lane: other.Lane, Seq: other.Position}
		}
	}
}

// fileOf returns the number that a part file of a node has in a copy. It names the same bytes in
// every copy, unless that node was given other shards to bring.
func fileOf(node uint32, number uint64) uint64 { return uint64(node)<<32 | number }

// openGathered adds the files of other nodes to those of the copy.
func (s *copySource) openGathered(d *Door) {
	for _, g := range s.gathered {
		for i := 1; i < len(g.files); i++ {
			s.held.Names = append(s.held.Names, g.files[i].name)
			s.held.Readers = append(s.held.Readers, &remoteFile{d, fetched{g.node, g.number}, uint64(i), int64(g.files[i].size)})
		}
	}
}

// remoteFile is a file that another node holds.
type remoteFile struct {
	d    *Door
	from fetched
	file uint64
	size int64
}

var _ folder.Reader = (*remoteFile)(nil)

// Size implements folder.Reader.
func (r *remoteFile) Size() int64 { return r.size }

// Close implements folder.Reader. The node lets go of all its files when the copy is over.
func (*remoteFile) Close() error { return nil }

// Read implements folder.Reader. It is not needed: files of a copy are read from where a client
// says.
func (*remoteFile) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// ReadAt implements folder.Reader.
func (r *remoteFile) ReadAt(b []byte, off int64) (int, error) {
	data, err := r.piece(off, len(b))
	return copy(b, data), err
}

// piece returns n bytes, which are the caller's.
func (r *remoteFile) piece(off int64, n int) ([]byte, error) {
	data, err := r.d.ask(context.Background(), r.from.node, question(askRead, r.from.number, r.file, uint64(off), uint64(n)), n)
	if err == nil && len(data) != n {
		err = errAnswer
	}
	if err != nil {
		return nil, fmt.Errorf("node %d: %w", r.from.node, err)
	}
	return data, nil
}

// shardSet is a set of shards.
type shardSet [placement.Shards / 8]byte

func (s *shardSet) add(shard int)      { s[shard/8] |= 1 << (shard % 8) }
func (s *shardSet) has(shard int) bool { return s[shard/8]&(1<<(shard%8)) != 0 }
