package lines_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

// TestKeep keeps all, some and no records of all lengths, in their order.
func TestKeep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, share := range []float64{0, 0.01, 0.1, 0.5, 0.9, 0.99, 1} {
		for _, longest := range []int{1, 20, 63, 64, 65, 200} {
			var text []byte
			for range 500 {
				for range r.IntN(longest + 1) {
					text = append(text, byte('a'+r.IntN(26)))
				}
				text = append(text, '\n')
			}
			in := &lines.Input{Stdin: bytes.NewReader(text), Block: 1 << 20}
			err := lines.Process(context.Background(), in, 1, nil, func(b *lines.Batch, _ *struct{}) error {
				wanted, want, count := make([]bool, len(b.Records)), []byte{}, 0
				for i, record := range b.Records {
					if wanted[i] = r.Float64() < share; wanted[i] {
						want = append(append(want, record...), '\n')
						count++
					}
				}
				if n, got := b.Keep(wanted); n != count || !bytes.Equal(got, want) {
					t.Errorf("%v of records of up to %d bytes: %d kept, want %d, or other bytes", share, longest, n, count)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
