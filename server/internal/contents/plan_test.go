package contents

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
)

// TestPlans asks that a plan is read as it was written, and no piece of it for another one.
func TestPlans(t *testing.T) {
	for _, plan := range []Plan{
		{},
		{Parts: maxParts, SLA: math.MaxUint64, Budget: 1, Generation: math.MaxInt64, Version: 9, KeyID: "key"},
		{Replicas: AllReplicas},
		{News: MaxNews},
		{Replicas: 3, News: 1},
	} {
		data := AppendPlan(nil, &plan)
		got, rest, err := CutPlan(append(data, "behind"...))
		if err != nil || got != plan || !bytes.Equal(rest, []byte("behind")) {
			t.Errorf("%+v: %+v, then %q, %v", plan, got, rest, err)
		}
		for n := range data {
			if _, _, err := CutPlan(data[:n]); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%d bytes of %x: %v", n, data, err)
			}
		}
		data[1]++ // the version, behind the length
		if _, _, err := CutPlan(data); !errors.Is(err, bloomery.ErrVersion) {
			t.Errorf("a plan of a later version: %v", err)
		}
	}
	for _, plan := range []Plan{{Parts: maxParts + 1}, {Generation: -1}, {News: MaxNews + 1}} {
		if _, err := ParsePlan(AppendPlan(nil, &plan)); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%+v: %v", plan, err)
		}
	}
}

// TestProgressAdds asks that sums of numbers that are not known stay unknown, and that all of them
// are read as they were written.
func TestProgressAdds(t *testing.T) {
	v := Progress{1, math.MaxUint64 - 9, 3, 4, 5, 6, 7, 2, 0.25, 8, 9, 10, 0.5, 11, 12, false}
	got, rest, ok := ReadProgress(append(v.Append(nil), 'x'))
	if !ok || got != v || string(rest) != "x" {
		t.Errorf("%+v, then %q: want %+v", got, rest, v)
	}
	data := v.Append(nil)
	for n := range data {
		if _, _, ok := ReadProgress(data[:n]); ok {
			t.Errorf("%d bytes of %d are read", n, len(data))
		}
	}
	sum := Progress{Items: math.MaxUint64, Fed: 1, Gone: math.MaxUint64 - 1, Sources: 1}
	sum.Add(&v)
	if sum.Items != math.MaxUint64 || sum.Gone != math.MaxUint64 || sum.Fed != 5 || sum.Sources != 2 || sum.Capacity != 3 {
		t.Errorf("%+v", sum)
	}
}

// TestHeldParts asks that contents stay until the last of those who hold them lets go.
func TestHeldParts(t *testing.T) {
	_, b, p, d := sealable(t, 10)
	p.Hold()
	p.Hold()
	had := p.Bytes()
	if n := p.Leave(false); n != had || !p.Gone() || p.Moved() {
		t.Errorf("%d bytes of %d have left: gone %t, moved %t", n, had, p.Gone(), p.Moved())
	}
	p.Unhold()
	if d.Stats().Items != 10 {
		t.Error("its contents went before its last holder")
	}
	p.Unhold()
	if d.Stats().Items != 0 {
		t.Error("its contents stay when nobody holds them")
	}
	b.settled(t)
}
