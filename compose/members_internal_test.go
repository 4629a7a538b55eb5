package compose

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
)

// TestOpenMembersBounds opens payloads whose table of sizes just fits, or not.
func TestOpenMembersBounds(t *testing.T) {
	opened := errors.New("opened")
	open := func([]byte) (bloomery.Hashed, error) { return nil, opened }
	for _, c := range []struct {
		payload, members int
		want             error
	}{
		{0, 1, bloomery.ErrCorrupt}, {63, 1, bloomery.ErrCorrupt}, {64, 1, opened}, {64, 8, opened},
		{64, 9, bloomery.ErrCorrupt}, {127, 9, bloomery.ErrCorrupt}, {128, 9, opened}, {128, 16, opened}, {128, 17, bloomery.ErrCorrupt},
	} {
		if _, err := openMembers(make([]byte, c.payload), c.members, open); !errors.Is(err, c.want) {
			t.Errorf("%d bytes for %d members: %v, want %v", c.payload, c.members, err, c.want)
		}
	}
	payload := make([]byte, 128)
	payload[0] = 65
	if _, err := openMembers(payload, 1, open); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a member of 65 bytes in 64: %v, want ErrCorrupt", err)
	}
}
