package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestStray asks that bytes in the log that no node has sent are passed over by every
// node, also by one that starts later, and that an operator is told.
func TestStray(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 3)
		for _, m := range list[:2] {
			m.start()
		}
		list[0].fill(1)
		whole := messages.AppendSum(store.AppendRecord(messages.AppendHeader(nil, &messages.Header{Cluster: 1, Node: 1, Session: 1, Counter: 9}), &set("stray").Record))
		whole[3]++
		for lane := range list[0].all() {
			for _, b := range [][]byte{{}, []byte("hello"), []byte(strings.Repeat("a message of somebody else ", 20)), whole} {
				list[0].log.Append(lane, b)
			}
		}
		list[1].fill(2)
		list[0].save()
		list[0].kill()
		list[0].start()
		list[2].start()
		list[2].fill(3)
		equal(t, list)
		if problems := fmt.Sprint(list[2].Cluster().Problems); !strings.Contains(problems, "messages that no node has sent") {
			t.Errorf("problems: %s", problems)
		}
	})
}

// TestSetBack takes the end of the log away, as it happens if most log nodes are set back
// to an old copy of their folders, and has other messages in its place. A node whose
// snapshot has what is gone does not go on with them.
func TestSetBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 2)
		list[0].fill(1)
		last := make([]uint64, len(list[0].all()))
		for lane := range last {
			last[lane] = list[0].log.Messages(lane)
		}
		list[0].fill(2)
		list[0].save()
		for _, m := range list {
			m.kill()
		}
		for lane := range last {
			list[0].log.Truncate(lane, last[lane])
		}
		list[1].start()
		for round := range 5 {
			list[1].fill(3 + round)
		}
		err := list[0].tryStart()
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "another one") {
			t.Errorf("start = %v, want %v", err, ErrLost)
		}
		// What the error says to do helps.
		if err := list[0].files.Remove(folder.Manifest); err != nil {
			t.Fatal(err)
		}
		list[0].start()
		equal(t, list)
	})
}

// TestDamagedManifest asks that a node whose manifest is damaged says how it gets its
// data back, and that it does.
func TestDamagedManifest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 2)
		list[0].fill(1)
		list[0].save()
		list[0].kill()
		list[1].fill(2)
		files := list[0].files.(*folder.Memory)
		b := bytes.Clone(files.Bytes(folder.Manifest))
		b[len(b)/2] ^= 1
		files.Put(folder.Manifest, b)
		err := list[0].tryStart()
		if !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), "move the file MANIFEST") {
			t.Errorf("start = %v", err)
		}
		if err := files.Remove(folder.Manifest); err != nil {
			t.Fatal(err)
		}
		list[0].start()
		equal(t, list)
	})
}
