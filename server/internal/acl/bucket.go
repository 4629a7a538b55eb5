package acl

// Bucket: how many items a user may add in a second.

import (
	"sync/atomic"
	"time"
)

// Bucket bounds how many items are added in a second: it holds the items of one
// second, is full at the beginning, and fills at the rate. The zero value is ready to
// use.
//
// Safe for concurrent use.
type Bucket struct {
	full atomic.Int64 // when it will be full again, by the caller's clock
}

// Take takes n items out of the bucket, all of them or none, at a time by a clock that
// never steps back. If it has too few it returns how long to wait for them, 0 if it
// never has so many.
func (b *Bucket) Take(now time.Duration, rate int64, n int) (wait time.Duration, ok bool) {
	if int64(n) > rate {
		return 0, false
	}
	// n is at most the rate, which is at most 1e9: the product fits.
	cost := (int64(n)*int64(time.Second) + rate - 1) / rate
	for {
		full := b.full.Load()
		next := max(full, int64(now)) + cost
		if late := next - int64(now) - int64(time.Second); late > 0 {
			return time.Duration(late), false
		}
		if b.full.CompareAndSwap(full, next) {
			return 0, true
		}
	}
}
