package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// The nodes of histories: one that holds everything, one that holds nothing, and one that
// holds some shards. Two more hold everything, so that others may retire.
const (
	holdsAll  = 1
	holdsNone = 2
	holdsSome = 3
	allNodes  = 5
)

// history is one random sequence of records of the catalogue, applied by nodes that hold
// different contents. Records of parts come when they come: lanes have no order.
type history struct {
	t      *testing.T
	random *rand.Rand
	nodes  [holdsSome]*store.State
	late   [holdsSome][]store.Record // of parts, that a node has not applied yet
	bases  map[string][]byte         // valid headers by operation
	sheets [][]byte                  // encodings of parts that are loaded
	at     int64
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{t: t, random: rand.New(rand.NewPCG(seed, 61)), bases: map[string][]byte{}}
	for i := range h.nodes {
		h.nodes[i] = store.New()
		h.nodes[i].SetNode(uint32(i + 1))
	}
	h.names(&store.Birth{ID: 9, Seed: 4, Lanes: 2})
	for i := range int64(allNodes) {
		h.names(&store.Join{Nonce: i + 1, Level: store.LevelShards})
		h.names(&store.Session{Node: uint64(i + 1), Nonce: i + 1})
	}
	h.templates()
	for range h.random.IntN(30) { // of before
		h.step()
	}
	h.names(&store.Level{Level: store.LevelShards})
	for range h.random.IntN(30) {
		h.step()
	}
	h.names(&store.ShardCopies{Copies: 2})
	h.spreadOut()
	return h
}

// spreadOut takes all shards from one node and half of them from another, as many moves
// would.
func (h *history) spreadOut() {
	own := *h.nodes[0].Roster()
	table := *own.Shards
	own.Shards, table.Places = &table, slices.Clone(table.Places)
	for i := range table.Places {
		half := h.random.IntN(2)
		table.Places[i].Copies = slices.DeleteFunc(slices.Clone(table.Places[i].Copies), func(c roster.Copy) bool {
			return c.Node == holdsNone || c.Node == holdsSome && half == 0
		})
	}
	for i, s := range h.nodes {
		s.SetRoster(&own)
		if err := s.Resume(uint32(i+1), roster.Everything(uint32(i+1), &table)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// retire takes a shard from a node.
func (h *history) retire(node uint64, shard int) {
	place := h.nodes[0].Roster().Shards.Places[shard]
	h.names(&store.ShardRetire{Node: node, Shard: uint64(shard), Version: place.Version})
	if h.random.IntN(8) > 0 {
		h.names(&store.ShardFree{Node: node, Shard: uint64(shard), Since: place.Copy(uint32(node)).Since})
	}
}

// templates makes headers of every kind.
func (h *history) templates() {
	s := store.New()
	defer s.Discard()
	made := func(b store.Body) []byte {
		return contents.PartOf(apply(h.t, s, store.Record{Body: b}).Entry).Contents().AppendHeader(nil)
	}
	h.bases["bf"] = made(&store.MakeBloom{Name: []byte("bf"), Params: redisbloom.BloomParams{Capacity: 100, ErrorRate: 0.01, Expansion: 2}})
	h.bases["cf"] = made(&store.MakeCuckoo{Name: []byte("cf"), Params: redisbloom.CuckooParams{Capacity: 100, BucketSize: 2, MaxIterations: 20, Expansion: 1}})
	h.bases["cms"], h.bases["topk"] = countMinHeader(20, 3), topKHeader(5)
	digest, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: 100})
	if err != nil {
		h.t.Fatal(err)
	}
	h.bases["tdigest"] = digest.AppendHeader(nil)
	window, err := compose.WindowConfig{Capacity: 100, ErrorRate: 0.01}.New()
	if err != nil {
		h.t.Fatal(err)
	}
	for name, f := range map[string]bloomery.Hashed{"filter": bloom.New(100, 0.01), "window": window} {
		outline, err := codec.AppendOutline(nil, f)
		if err != nil {
			h.t.Fatal(err)
		}
		h.bases[name] = outline
	}
	sheet, err := bloom.New(50, 0.01).MarshalBinary()
	if err != nil {
		h.t.Fatal(err)
	}
	h.sheets = [][]byte{sheet}
}

// names applies a record of the catalogue everywhere, and compares.
func (h *history) names(b store.Body) (entry *catalog.Entry) {
	h.t.Helper()
	var first store.Result
	var want []byte
	for i, s := range h.nodes {
		r := store.Record{At: h.at, Origin: store.Origin{Session: 1}, Body: b}
		if r.Op() == store.OpSession {
			r.Origin = store.Origin{}
		}
		var res store.Result
		before := s.Roster()
		s.Names.Lock()
		store.Apply(s, &r, nil, &res)
		res.Release()
		got := s.AppendCatalogue(nil)
		s.Names.Unlock()
		if now := s.Roster(); now != before {
			got = roster.Append(got, now)
		}
		if i == 0 {
			first, want, entry = res, got, res.Entry
			continue
		}
		if fmt.Sprint(res.Err) != fmt.Sprint(first.Err) || res.N != first.N || res.Changed != first.Changed || res.Had != first.Had || (res.Entry == nil) != (first.Entry == nil) {
			h.t.Fatalf("%T%+v: node %d answers %v, %d, %v, and one with all contents %v, %d, %v", b, b, i+1, res.Err, res.N, res.Changed, first.Err, first.N, first.Changed)
		}
		if !bytes.Equal(got, want) {
			ours, theirs := differing(got, want)
			h.t.Fatalf("%T%+v: node %d comes to %q, and one with all contents to %q", b, b, i+1, ours, theirs)
		}
	}
	return entry
}

// differing returns the first lines that differ.
func differing(a, b []byte) (ours, theirs []byte) {
	for {
		ours, a, _ = bytes.Cut(a, []byte("\n"))
		theirs, b, _ = bytes.Cut(b, []byte("\n"))
		if !bytes.Equal(ours, theirs) || len(a)+len(b) == 0 {
			return ours, theirs
		}
	}
}

// part has a record of a part come to every node, at some time. While every node holds
// everything, records of the catalogue say which records of parts come before them.
func (h *history) part(r store.Record) {
	for i := range h.late {
		h.late[i] = append(h.late[i], r)
		n := len(h.late[i])
		if h.spread() {
			n = h.random.IntN(n + 1)
		}
		h.catchUp(i, n)
	}
}

// catchUp has a node apply the next records of parts.
func (h *history) catchUp(node, n int) {
	s := h.nodes[node]
	for _, r := range h.late[node][:n] {
		before := s.Bytes()
		var p *contents.Part
		if e := s.Names.ByID(r.ID); e != nil {
			p = contents.PartAt(e, r.Index)
		}
		if p == nil {
			continue
		}
		res := store.Result{}
		p.Lock()
		store.Apply(s, &r, p, &res)
		p.Unlock()
		if p.Elsewhere() && (!errors.Is(res.Err, contents.ErrElsewhere) || res.Changed || s.Bytes() != before) {
			h.t.Fatalf("%T of a part that others hold: %v, changed %v, %d bytes more", r.Body, res.Err, res.Changed, s.Bytes()-before)
		}
	}
	h.late[node] = h.late[node][n:]
}

func (h *history) name() []byte { return fmt.Appendf(nil, "{n%d}x", h.random.IntN(12)) }

// header returns a header, now and then a damaged one.
func (h *history) header(kind string) []byte {
	b := bytes.Clone(h.bases[kind])
	if h.random.IntN(4) == 0 {
		if len(b) > 0 && h.random.IntN(3) > 0 {
			b[h.random.IntN(len(b))] ^= byte(1 << h.random.IntN(8))
		} else {
			b = b[:h.random.IntN(len(b)+1)]
		}
	}
	return b
}

func (h *history) plan() *contents.Plan {
	p := &contents.Plan{Parts: uint8(h.random.IntN(4)), Version: uint64(h.random.IntN(4))}
	if h.random.IntN(4) == 0 {
		p.Replicas = contents.AllReplicas
	}
	return p
}

// step applies a random record.
func (h *history) step() {
	h.at += h.random.Int64N(20)
	switch h.random.IntN(18) {
	case 0:
		h.names(&store.MakeBloom{Name: h.name(), Params: redisbloom.BloomParams{Capacity: uint64(h.random.IntN(100)), ErrorRate: float64(h.random.IntN(3)) / 4, Expansion: 2}})
	case 1:
		h.names(&store.MakeCuckoo{Name: h.name(), Params: redisbloom.CuckooParams{Capacity: uint64(h.random.IntN(100)), BucketSize: uint16(h.random.IntN(3)), MaxIterations: 20, Expansion: 1}})
	case 2, 3:
		kinds := []string{"bf", "cf", "cms", "topk", "tdigest"}
		ops := []store.Op{store.OpBloomDump, store.OpCuckooDump, store.OpCountMin, store.OpTopK, store.OpTDigest}
		i := h.random.IntN(len(kinds))
		header := h.header(kinds[i])
		if n, err := store.NewBytes(&store.Make{As: ops[i], Header: header}); err == nil && n > 1<<20 {
			return // a damaged one may be large
		}
		if h.random.IntN(2) == 0 {
			h.stage(&store.Stage{As: ops[i], Header: header})
		} else {
			h.names(&store.Make{As: ops[i], Name: h.name(), Header: header})
		}
	case 4, 5:
		kind, p := "filter", h.plan()
		if h.random.IntN(3) == 0 {
			kind, p.Generation = "window", 1000
		}
		header := contents.AppendCreation(nil, p, h.header(kind))
		if n, err := store.NewBytes(&store.Make{As: store.OpFilter, Header: header}); err == nil && n > 1<<20 {
			return
		}
		if h.random.IntN(3) == 0 {
			h.stage(&store.Stage{As: store.OpFilter, Header: header})
		} else {
			h.names(&store.Make{As: store.OpFilter, Name: h.name(), Header: header})
		}
	case 6, 7:
		h.load()
	case 8, 9, 10:
		flags := []uint8{0, store.IfAbsent, store.IfNewer, store.IfFilter, store.KeepTTL, store.IfNewer | store.IfFilter}
		if ids := h.staged(); len(ids) > 0 {
			h.names(&store.Reveal{ID: ids[h.random.IntN(len(ids))], Name: h.name(), If: flags[h.random.IntN(len(flags))], Whole: h.random.IntN(3) > 0 && h.spread()})
		}
	case 11:
		h.names(&store.Rename{From: h.name(), To: h.name()})
	case 12:
		h.names(&store.Remove{Names: [][]byte{h.name()}})
	case 13:
		h.names(&store.Expire{Name: h.name(), Deadline: h.at + h.random.Int64N(50)})
	case 14:
		h.names(&store.Set{String: store.String{Name: h.name(), Value: []byte("v")}, If: store.IfString})
	case 15:
		h.names(&store.Expect{Name: h.name(), ID: uint64(h.random.IntN(100))})
	case 16:
		h.change()
	default:
		h.rare()
	}
}

// rare applies a record that changes much.
func (h *history) rare() {
	switch h.random.IntN(7) {
	case 6:
		h.nodes[holdsSome-1].Sweep()
	case 0:
		h.names(&store.Flush{})
	case 1:
		h.at += 100
		h.names(&store.Session{Node: 1, Last: h.nodes[0].Roster().Member(1).Session, Nonce: h.at})
	case 2, 3:
		if shard := h.random.IntN(placement.Shards); h.spread() {
			h.retire(holdsSome, shard)
		}
	default:
		if shard := h.random.IntN(placement.Shards); h.spread() {
			h.names(&store.ShardLearn{Node: holdsSome, Shard: uint64(shard), Version: h.nodes[0].Roster().Shards.Places[shard].Version})
			h.names(&store.ShardHold{Node: holdsSome, Shard: uint64(shard), Since: h.nodes[0].Roster().Shards.Places[shard].Copy(holdsSome).Since})
		}
	}
}

func (h *history) spread() bool { return h.nodes[0].Roster().Spread() }

// stage stages, in the form of the cluster's level, or in the old one.
func (h *history) stage(o *store.Stage) *catalog.Entry {
	if h.random.IntN(6) > 0 {
		h.nodes[0].Place(o, h.name())
	}
	return h.names(o)
}

// load stages a filter to be loaded, and has its pieces come.
func (h *history) load() {
	p := h.plan()
	if h.random.IntN(3) == 0 {
		p.Generation = 1000
	}
	o := &store.Stage{As: store.OpFilterLoad, Header: contents.AppendPlan(nil, p)}
	peek, err := codec.Peek(h.sheets[0])
	if err != nil {
		h.t.Fatal(err)
	}
	if h.nodes[0].Place(o, h.name()).Placed && h.random.IntN(8) > 0 {
		o.Header = contents.AppendLoad(nil, p, &peek.Kind, hashing.Seeded(peek.Check+uint64(h.random.IntN(8)/7)))
	}
	e := h.names(o)
	if e == nil {
		return
	}
	for i := range 1 << p.Parts {
		if sheet := h.sheets[0]; h.random.IntN(6) > 0 {
			h.part(store.Record{ID: e.ID, Index: uint32(i), Body: &store.FilterPiece{Of: uint64(len(sheet)), Data: sheet[:20]}})
			h.part(store.Record{ID: e.ID, Index: uint32(i), Body: &store.FilterPiece{Of: uint64(len(sheet)), Offset: 20, Data: sheet[20:]}})
		}
	}
}

// staged returns the ids of filters without a name.
func (h *history) staged() (ids []uint64) {
	s := h.nodes[0]
	s.Names.Lock()
	defer s.Names.Unlock()
	for _, e := range s.Names.All() {
		if e.Staged() {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// change changes contents of a random part.
func (h *history) change() {
	e := h.nodes[0].Names.Lookup(h.name(), h.at)
	if e == nil || contents.PartCount(e) == 0 {
		return
	}
	r := store.Record{ID: e.ID, Index: uint32(h.random.IntN(contents.PartCount(e)))}
	bodies := []store.Body{
		&store.FilterAdd{Hashes: hashes(5), Room: store.Unlimited}, &store.FilterGrow{Rate: 0.02}, &store.FilterFold{}, &store.ExpectPart{Version: 1},
		&store.FilterClear{Outline: h.bases["filter"]}, &store.BloomAdd{Digests: digests(5), Room: store.Unlimited}, &store.CuckooInsert{Hashes: hashes(3), Room: store.Unlimited},
		&store.FilterAdvance{Generation: uint64(h.at)},
	}
	r.Body = bodies[h.random.IntN(len(bodies))]
	h.part(r)
}

// TestCatalogueReadsNoContents asks that nodes that hold different contents come to the same
// catalogue by the same records, and answer the same, wherever their lanes of parts are.
func TestCatalogueReadsNoContents(t *testing.T) {
	for seed := range uint64(6) {
		h := newHistory(t, seed)
		for range 400 {
			h.step()
		}
		here := [holdsSome]int{}
		for i, s := range h.nodes {
			h.catchUp(i, len(h.late[i]))
			s.Sweep()
			for _, e := range s.Names.All() {
				for _, p := range contents.Parts(e) {
					if !p.Elsewhere() {
						here[i]++
					}
					if wide := contents.Everywhere(e); wide && p.Elsewhere() || i+1 == holdsNone && !wide && !p.Elsewhere() && s.Answers(p) {
						t.Errorf("seed %d: node %d has what it is not to have, or lacks it: wide %v", seed, i+1, wide)
					}
				}
			}
			s.Discard()
			if s.Bytes() != 0 {
				t.Errorf("seed %d: node %d counts %d bytes after all is gone", seed, i+1, s.Bytes())
			}
		}
		if here[holdsNone-1] > here[holdsSome-1] || here[holdsSome-1] > here[holdsAll-1] {
			t.Errorf("seed %d: %v parts are here", seed, here)
		}
	}
}
