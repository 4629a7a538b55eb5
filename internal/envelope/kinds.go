package envelope

// The names of kinds, for errors.

import (
	"fmt"
	"strconv"

	"github.com/bloomery/bloomery"
)

// kindNames are the names of the kinds by their numbers, those of Stats.Kind.
var kindNames = [...]string{
	KindBloom: "bloom", KindStandard: "standard", KindPartitioned: "partitioned", KindSplit: "split", KindScalable: "scalable",
	KindSliced: "sliced", KindCounting: "counting", KindSpectral: "spectral", KindStable: "stable", KindCuckoo: "cuckoo",
	KindQuotient: "quotient", KindFuse8: "fuse8", KindFuse16: "fuse16", KindFuse32: "fuse32", KindRibbon: "ribbon",
	KindGrowing: "growing", KindWindow: "window", KindQuorum: "quorum", KindStriped: "striped",
	KindMap: "map", KindExact: "exact",
	KindCorrected: "corrected", KindLayers: "layers",
}

// KindName returns the name of a kind, or its number if that is not known here.
func KindName(kind uint16) string {
	if int(kind) >= len(kindNames) || kindNames[kind] == "" {
		return strconv.Itoa(int(kind))
	}
	return kindNames[kind]
}

// CheckKind returns an error that wraps ErrIncompatible if a header is that of
// another kind than want.
func (h Header) CheckKind(want uint16) error {
	if h.Kind == want {
		return nil
	}
	return fmt.Errorf("%w: the filter is of kind %s, not of kind %s", bloomery.ErrIncompatible, KindName(h.Kind), KindName(want))
}
