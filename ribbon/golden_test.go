package ribbon_test

import (
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
	"github.com/bloomery/bloomery/ribbon"
)

// The files in testdata are the contract of the format, see package golden.
func TestGolden(t *testing.T) {
	for name, x := range map[string]struct {
		config ribbon.Config
		keys   int
	}{
		"v1-ribbon-empty":     {ribbon.Config{ErrorRate: 0.01}, 0},
		"v1-ribbon-list":      {ribbon.Config{ErrorRate: 0.01}, 10},
		"v1-ribbon-64-1e-2":   {ribbon.Config{ErrorRate: 1e-2}, 3000}, // layers, and blocks of 6 and 7 columns
		"v1-ribbon-64-8-bits": {ribbon.Config{ErrorRate: 1. / 256}, 1500},
		"v1-ribbon-128-1e-3":  {ribbon.Config{ErrorRate: 1e-3, Width: 128}, 3000},
		"v1-ribbon-shards":    {ribbon.Config{ErrorRate: 0.1, Shards: 4}, 2000},
		"v1-ribbon-keyed":     {ribbon.Config{ErrorRate: 0.1, Hasher: hashing.Keyed([16]byte([]byte("sixteen byte key")))}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			var hs []uint64
			for i := range x.keys {
				hs = append(hs, x.config.Hasher.HashUint64(uint64(i)))
			}
			golden.Filter(t, name, built(t, x.config, hs), built(t, x.config, nil), hs)
		})
	}
}
