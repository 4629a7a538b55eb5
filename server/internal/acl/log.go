package acl

// ACL LOG: what was refused.

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Reason is why something was refused, in the words of ACL LOG.
type Reason string

// Why something was refused.
const (
	Allowed Reason = ""
	Auth    Reason = "auth"
	Cmd     Reason = "command"
	Key     Reason = "key"
)

// Where something was refused, in the words of ACL LOG.
const (
	TopLevel = "toplevel"
	Multi    = "multi"
)

// Limits of the log.
const (
	defaultLog = 128
	logText    = 1 << 10 // bytes of a name
	logSimilar = 10      // entries that are looked at for a similar one
	logWithin  = time.Minute
)

// Entry is something that was refused, once or several times.
type Entry struct {
	ID       int64
	Count    int64
	Reason   Reason
	Context  string
	Object   string // the name of the command or of the key
	Username string
	Client   string // as CLIENT LIST shows it; of the last time
	Created  time.Time
	Updated  time.Time
}

// Log is the latest that was refused. The zero value keeps 128 entries.
//
// Safe for concurrent use.
type Log struct {
	most atomic.Int64 // plus one; 0 means 128

	// mu guards what follows.
	mu      sync.Mutex
	next    int64
	entries []Entry // latest first
}

// MaxLen returns how many entries are kept.
func (l *Log) MaxLen() int64 {
	if v := l.most.Load(); v > 0 {
		return v - 1
	}
	return defaultLog
}

// SetMaxLen sets how many entries are kept.
func (l *Log) SetMaxLen(n int64) { l.most.Store(n + 1) }

// Add notes what was refused at a time. One that is similar to an entry of the last
// minute is counted there.
func (l *Log) Add(e Entry, now time.Time) {
	e.Object, e.Username, e.Client = clip(e.Object), clip(e.Username), clip(e.Client)
	e.Count, e.Created, e.Updated = 1, now, now
	most := int(l.MaxLen())
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.entries[:min(len(l.entries), logSimilar)] {
		if old := l.entries[i]; old.similar(&e) {
			e.ID, e.Count, e.Created = old.ID, old.Count+1, old.Created
			l.entries = slices.Delete(l.entries, i, i+1)
			l.entries = slices.Insert(l.entries, 0, e)
			return
		}
	}
	e.ID = l.next
	l.next++
	l.entries = slices.Insert(l.entries, 0, e)
	l.entries = l.entries[:min(len(l.entries), most)]
}

func (e *Entry) similar(other *Entry) bool {
	return e.Reason == other.Reason && e.Context == other.Context && e.Object == other.Object && e.Username == other.Username &&
		other.Updated.Sub(e.Updated).Abs() <= logWithin
}

func clip(s string) string { return s[:min(len(s), logText)] }

// Latest returns the latest n entries.
func (l *Log) Latest(n int64) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries[:max(0, min(n, int64(len(l.entries))))])
}

// Reset removes all entries.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}
