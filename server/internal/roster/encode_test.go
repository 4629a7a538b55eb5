package roster_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
)

// FuzzParse asks that what is understood is written as it was read.
func FuzzParse(f *testing.F) {
	f.Add(roster.Append(nil, &roster.Roster{ID: 5, Lanes: 1, Members: make([]roster.Member, 2), Holders: make([][]uint32, 3)}))
	places := make([]roster.Place, placement.Shards)
	places[3] = roster.Place{Version: 4, Copies: []roster.Copy{{Node: 1, Phase: roster.Holds, Since: 2}, {Node: 2, Phase: roster.Learns, Since: 4}}}
	shards := &roster.Shards{Copies: 2, Changes: 9, Places: places}
	f.Add(roster.Append(nil, &roster.Roster{ID: 5, Lanes: 1, Members: make([]roster.Member, 2), Holders: make([][]uint32, 3), Shards: shards}))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, _, err := roster.Parse(data)
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Fatalf("error %v wraps neither cause", err)
			}
			return
		}
		again, rest, err := roster.Parse(roster.Append(nil, r))
		if err != nil || len(rest) != 0 || !reflect.DeepEqual(again, r) {
			t.Fatalf("again: %+v, %q, %v, want %+v", again, rest, err, r)
		}
	})
}
