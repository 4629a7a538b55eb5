package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/bloomery/bloomery/foreign/bitsandblooms"
)

// TestBitsAndBlooms makes the same filters on both sides: the bytes are the same, and each
// side reads those of the other, in both forms.
func TestBitsAndBlooms(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 100_000} {
		theirs := bloom.NewWithEstimates(uint(n), 0.001)
		ours, err := bitsandblooms.New(uint64(n), 0.001)
		if err != nil {
			t.Fatal(err)
		}
		keys := make([][]byte, n)
		for i := range keys {
			keys[i] = bytes.Repeat(fmt.Appendf(nil, "key %d ", i), i%5)
			theirs.Add(keys[i])
			ours.Add(keys[i])
		}
		for form, write := range map[string][2]func() ([]byte, error){
			"binary": {theirs.MarshalBinary, ours.MarshalBinary},
			"JSON":   {theirs.MarshalJSON, func() ([]byte, error) { return bitsandblooms.JSON(ours) }},
		} {
			a, err1 := write[0]()
			b, err2 := write[1]()
			if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Fatalf("%d keys, %s: %d bytes and %d bytes differ, %v, %v", n, form, len(a), len(b), err1, err2)
			}
			back, err := bitsandblooms.Open(a)
			if err != nil {
				t.Fatal(err)
			}
			var there bloom.BloomFilter
			if form == "JSON" {
				err = json.Unmarshal(b, &there)
			} else {
				err = there.UnmarshalBinary(b)
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, key := range keys {
				absent := fmt.Appendf(nil, "absent %d", i)
				if !back.Contains(key) || !there.Test(key) || back.Contains(absent) != there.Test(absent) {
					t.Fatalf("%d keys, %s: answers for key %d differ", n, form, i)
				}
			}
		}
	}
}
