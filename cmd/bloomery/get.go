// The command get: the values of keys in a map.

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
)

func newGet() *cobra.Command {
	o := &countOptions{}
	cmd := &cobra.Command{
		Use:   "get F [KEY...]",
		Short: "Print the values of keys in a map",
		Long: `get looks the keys, or the lines of standard input, up in the map in the file F,
and prints the value of each, a tab and the key. A key that is certainly absent
has - instead of a value. A key that is there always has its own value; one that
is absent has some value at the false positive rate of the map.

bloomery build --kind map makes a map.

The exit code is 0 if a key has a value, else 1.`,
		Example: `  bloomery get blocks.bm alice bob
  bloomery get --json blocks.bm < words.txt`,
		Args: between(1, -1, "a map, and keys if they are not on standard input"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error {
		return o.run(ctx, s, "get", args[0], args[1:], valuesOf)
	})
	o.flags(cmd)
	return cmd
}

// gotJSON is a line with --json. Bytes that are not text come as base64; the value of
// a key that is absent is null.
type gotJSON struct {
	Key    *string `json:"key,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
	Value  *uint32 `json:"value"`
}

// valuesOf looks values up in a map.
func valuesOf(name string, f bloomery.Hashed) (tally, error) {
	m, ok := f.(bloomery.Getter)
	if !ok {
		return tally{}, hinted{
			fmt.Errorf("%s: %w: %s filter has no values", name, bloomery.ErrIncompatible, aKind(f.Stats().Kind)),
			"build one of the kind map",
		}
	}
	return tally{
		ask: func(h uint64) (uint64, bool) {
			v, ok := m.GetHash(h)
			return uint64(v), ok
		},
		both:   func(n, _ uint64) uint64 { return n },
		absent: "-",
		object: func(text *string, raw []byte, n uint64, ok bool) any {
			j := gotJSON{Key: text, Base64: raw}
			if v := uint32(n); ok {
				j.Value = &v
			}
			return j
		},
	}, nil
}
