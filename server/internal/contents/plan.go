package contents

// Plan: what a user has asked of a filter.

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Plan is what a user has asked of a filter and its encoding does not hold. A plan
// never changes, and filters whose plans are equal may share one: FilterSet gives a
// filter another one.
type Plan struct {
	// Parts is the logarithm of the number of parts.
	Parts uint8
	// SLA is how long the 99th percentile of calls may take, in microseconds; 0
	// if nothing was asked.
	SLA uint64
	// Budget is how many bytes the filter should not exceed; 0 for any number.
	Budget uint64
	// Generation is how long a generation of a window is, in milliseconds.
	Generation int64
	// Version is that of the last FILTER.LOAD.
	Version uint64
	// KeyID names the secret key of its hash, "" if it has none.
	KeyID string
	// Replicas is how many nodes of a cluster hold the filter, 0 for as many as
	// hold any other, AllReplicas for all.
	Replicas uint8
	// News is how many changes are kept for who follows the filter; 0 for as many as take
	// a quarter of its memory.
	News uint64
}

// AllReplicas as Replicas of a plan means every node.
const AllReplicas = 255

// Everywhere reports whether the filter of an entry asks to be held by every node of
// a cluster. It never changes in the life of a filter and needs no lock.
func Everywhere(e *catalog.Entry) bool {
	p := PartOf(e)
	return p != nil && p.wide
}

// everywhere is Everywhere for contents, which belong to nobody else yet.
func everywhere(c Contents) bool {
	switch c := c.(type) {
	case *Filter:
		return c.plan.Load().Replicas == AllReplicas
	case *loading:
		return c.plan.Replicas == AllReplicas
	case *Draft:
		return c.plan.Replicas == AllReplicas
	case *elsewhere:
		plan := c.plan.Load()
		return plan != nil && plan.Replicas == AllReplicas
	}
	return false
}

// Asked returns the plan of a filter, loaded or not, of no contents one that asks for
// nothing. It needs no lock.
func (p *Part) Asked() *Plan {
	if l, ok := p.contents.(*loading); ok {
		return &l.plan
	}
	if plan := p.Plan(); plan != nil {
		return plan
	}
	return &Plan{}
}

// Shared is a plan with the hasher of its filters. Filters made alike share one.
type Shared struct {
	Plan
	Hasher hashing.Hasher
	Kind   *codec.Kind
	mark   uint64 // the last rebuild of a filter, which has this plan alone then: see Filter.SetMark
}

// rows are the kinds of package codec by number.
var rows = func() map[uint16]*codec.Kind {
	m := map[uint16]*codec.Kind{}
	for _, k := range codec.Kinds() {
		m[k.Number] = &k
	}
	return m
}()

// planVersion is the first byte of a plan.
const planVersion = 1

// maxParts is the logarithm of the largest number of parts.
const maxParts = 12

// MaxParts is the largest number of parts of a filter.
const MaxParts = 1 << maxParts

const (
	// MaxMade is the largest number of members that all parts of a quorum have together
	// when it is made: that is done in one go, and all other writers wait.
	MaxMade = MaxParts
	// maxLoaded is that of one that is loaded, part after part. Filters of earlier releases
	// have so many.
	maxLoaded = 1 << 16
)

// AppendPlan appends the encoding of a plan, which begins with its length.
func AppendPlan(b []byte, p *Plan) []byte {
	body := []byte{planVersion, p.Parts}
	for _, v := range []uint64{p.SLA, p.Budget, uint64(p.Generation), p.Version} {
		body = binary.AppendUvarint(body, v)
	}
	body = wire.AppendBytes(body, []byte(p.KeyID))
	if p.Replicas != 0 || p.News != 0 { // older plans end here
		body = append(body, p.Replicas)
	}
	if p.News != 0 { // or here
		body = binary.AppendUvarint(body, p.News)
	}
	return wire.AppendBytes(b, body)
}

// CutPlan reads a plan and returns what is behind it.
func CutPlan(b []byte) (p Plan, rest []byte, err error) {
	d := wire.Reader{Rest: b}
	in := wire.Reader{Rest: d.Bytes()}
	version := in.Byte()
	if !d.Bad && !in.Bad && version != planVersion {
		return p, nil, fmt.Errorf("store: plan: %w: plan of version %d, this release reads %d: a later one is needed", bloomery.ErrVersion, version, planVersion)
	}
	p = Plan{
		Parts: in.Byte(), SLA: in.Uvarint(), Budget: in.Uvarint(), Generation: int64(in.Uvarint()),
		Version: in.Uvarint(), KeyID: string(in.Bytes()),
	}
	if len(in.Rest) > 0 {
		p.Replicas = in.Byte()
	}
	if len(in.Rest) > 0 {
		p.News = in.Uvarint()
	}
	if p.News > MaxNews || d.Bad || in.Bad || len(in.Rest) > 0 || p.Parts > maxParts || p.Generation < 0 {
		return p, nil, corrupt("plan of a filter")
	}
	return p, d.Rest, nil
}

// AppendCreation appends the Value of a record that makes a filter: its plan, and
// the outline of each of its parts, which are alike.
func AppendCreation(b []byte, p *Plan, outline []byte) []byte {
	return append(AppendPlan(b, p), outline...)
}

// parseCreation reads what AppendCreation wrote.
func parseCreation(b []byte) (Plan, codec.Outline, error) {
	p, rest, err := CutPlan(b)
	if err != nil {
		return p, codec.Outline{}, err
	}
	o, err := codec.ParseOutline(rest)
	return p, o, err
}

// ParsePlan reads what AppendPlan wrote. The error wraps bloomery.ErrCorrupt or
// bloomery.ErrVersion.
func ParsePlan(b []byte) (Plan, error) {
	p, rest, err := CutPlan(b)
	if err == nil && len(rest) > 0 {
		err = corrupt("bytes behind a plan")
	}
	return p, err
}

// maxEncoding bounds the encoding of a part.
const maxEncoding = 1 << 40

// MaxNews is the largest number of changes that a filter may be asked to keep.
const MaxNews = 1 << 28

// SameNews is more than may be kept: setting it leaves a filter as it is, and tells what others have set.
const SameNews = MaxNews + 1

// SetBytes returns how many bytes more a filter takes that keeps so many changes.
func SetBytes(p *Part, news uint64) uint64 {
	own := *p.Asked()
	before := own.newsBytes()
	if own.News = news; news > MaxNews {
		return 0
	}
	return max(own.newsBytes(), before) - before
}

// NewsRoom returns how many changes of a part a user has asked for.
func (p *Plan) NewsRoom() uint64 {
	if p.News == 0 {
		return 0
	}
	return (p.News-1)>>p.Parts + 1
}

// newsBytes is what changes take that a user has asked for, of each part. They count with the filter, from the
// beginning: those of a share count when somebody asks for them.
func (p *Plan) newsBytes() uint64 { return 9 * p.NewsRoom() }
