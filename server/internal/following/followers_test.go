package following

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/server/internal/contents"
)

// TestRingsCount asks that rings count what NewsBytes says for as long as they are there, once.
func TestRingsCount(t *testing.T) {
	f := newFollowed(t, 0, true)
	want := int64(NewsBytes(f.entry))
	n := f.follow(1)
	if n.Note(Follower{Name: "a"}); f.follow(1) != n || f.counted.Load() != want || n.Bytes() != want || n.Kept() {
		t.Errorf("%d and %d bytes, want %d", f.counted.Load(), n.Bytes(), want)
	}
	for _, p := range contents.Parts(f.entry) { // FILTER.SET, which lets the filter count them
		p.Contents().(*contents.Filter).SetNews(16)
	}
	told := 0
	f.OnNews(func(of *News) {
		if told++; of != n {
			t.Error("other news have ended")
		}
	})
	next := f.follow(1)
	if next == n || f.counted.Load() != 0 || !next.Kept() || len(next.Followers()) != 1 || told != 1 {
		t.Errorf("%d bytes, %d followers, %d times told", f.counted.Load(), len(next.Followers()), told)
	}
	if f.Unfollow(n); f.News(f.entry) != next {
		t.Error("the end of old news has ended the new ones")
	}
	if f.Unfollow(next); f.News(f.entry) != nil || f.some.Load() != 0 || len(f.Followed()) != 0 {
		t.Errorf("%d rings are left", f.some.Load())
	}
}

// TestFollowersForgotten asks that whoever has not asked for the longest time is forgotten, and nobody for
// one who asks again.
func TestFollowersForgotten(t *testing.T) {
	var n News
	for i := range MaxFollowers {
		n.Note(Follower{Name: fmt.Sprint("f", i), Asked: int64(1000 - i)}) // the last one asked first
	}
	last := Follower{Name: fmt.Sprint("f", MaxFollowers-1)}
	n.Note(Follower{Name: "f0", Asked: 2000, Age: 5})
	isLast := func(f Follower) bool { return f.Name == last.Name }
	if list := n.Followers(); len(list) != MaxFollowers || list[0].Age != 5 || !slices.ContainsFunc(list, isLast) {
		t.Errorf("asked again: %d followers, %+v", len(list), list[0])
	}
	n.Note(Follower{Name: "new", Asked: 3000})
	if list := n.Followers(); len(list) != MaxFollowers || slices.ContainsFunc(list, isLast) {
		t.Errorf("one more: %d followers", len(list))
	}
}
