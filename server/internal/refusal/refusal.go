// Package refusal says why something was not done: errors of doors and of the store, in the
// words of Redis. Everything here takes the door that other machines share, nil if there is
// none: then the log of this one is what fails.
package refusal

import (
	"errors"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
)

// TextElsewhere is the error of a write whose contents lie at other machines.
const TextElsewhere = "CLUSTERDOWN other nodes hold contents of this key: send it to a node that holds all of them"

// ErrTooLong is of a record that is too long for the door.
var ErrTooLong = errors.New("too long")

// Write is the error for a write that could not be kept. Its code is the one
// that clients of Redis know for a server that cannot save, or for a cluster that
// takes no writes: they may send them again.
func Write(shared door.Shared, err error) answer.Reply {
	if errors.Is(err, contents.ErrElsewhere) {
		return answer.Fail(TextElsewhere)
	}
	if shared != nil && shared.Current() != nil {
		return Read(shared, err)
	}
	if shared != nil {
		return answer.Fail("CLUSTERDOWN Writes are refused, reads go on (" + Cause(err) + ")")
	}
	return answer.Fail("MISCONF Writes are refused, reads go on: the log cannot be written (" + answer.OneLine(err) + ").")
}

// Read is the error for a read of a machine that has left the cluster, or may lack what
// others have; and for one that asks for what any machine has acknowledged, while nobody
// can say what that is.
func Read(shared door.Shared, err error) answer.Reply {
	if errors.Is(err, door.ErrBehind) {
		return answer.Fail("LOADING " + Cause(err))
	}
	if shared.Current() != nil {
		return answer.Fail("CLUSTERDOWN This node no longer serves (" + Cause(err) + ")")
	}
	return answer.Fail("CLUSTERDOWN The read cannot be brought up to date; FILTER.READ LOCAL reads what is here (" + Cause(err) + ")")
}

// News is Read for news of a filter: they are never answered from what is here alone.
func News(shared door.Shared, err error) answer.Reply {
	if errors.Is(err, door.ErrBehind) || shared.Current() != nil {
		return Read(shared, err)
	}
	return answer.Fail("CLUSTERDOWN This node cannot tell whether a copy lacks something: ask another one (" + Cause(err) + ")")
}

// Told is an error that another machine has answered.
type Told struct{ Text string }

func (t *Told) Error() string { return t.Text }

// Record is the one place that answers a record that was not kept, or of
// which nobody knows.
func Record(shared door.Shared, err error) answer.Reply {
	var told *Told
	switch {
	case errors.As(err, &told):
		return answer.Fail(told.Text)
	case errors.Is(err, door.ErrUnknown):
		return answer.Fail("UNKNOWN the write may be kept or not (" + Cause(err) + ")")
	case errors.Is(err, door.ErrMemory):
		if _, why, ok := strings.Cut(answer.OneLine(err), door.ErrMemory.Error()+": "); ok {
			return answer.Fail("OOM " + why)
		}
		return answer.Fail(answer.TextOOM)
	case errors.Is(err, ErrTooLong), errors.Is(err, door.ErrGroup):
		return answer.Fail("ERR " + answer.OneLine(err))
	}
	return Write(shared, err)
}

// NoRoom reports whether the budget had too little room for a record, as it was prepared
// or while it was applied.
func NoRoom(err error) bool {
	return errors.Is(err, door.ErrMemory) || errors.Is(err, contents.ErrRoom)
}

// Cause returns the text of an error of a door without its first words, which say what
// the code of the reply says, and without the names of packages.
func Cause(err error) string {
	text := answer.OneLine(err)
	for _, known := range []error{door.ErrDown, door.ErrRefused, door.ErrUnknown, door.ErrBehind} {
		text = strings.TrimPrefix(text, known.Error()+": ")
	}
	text = strings.TrimPrefix(text, "cluster: ")
	return strings.TrimPrefix(text, "peers: the question was not asked: ") // what follows says why
}
