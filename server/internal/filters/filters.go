// Package filters is what commands on filters of package codec share: how one is found, its
// secret key, its time, and the words of errors.
package filters

import (
	"errors"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TextRebuilding refuses what would leave the shadow of a filter behind.
const TextRebuilding = "ERR the filter is being rebuilt: FILTER.REBUILD key COMMIT or ABORT first"

// Find returns the filter of a name. If there is none, or it is something else, it
// answers and returns nil.
func Find(x *engine.Context, c *engine.Call, name []byte) *catalog.Entry {
	entry := x.Names().Read(name)
	switch {
	case entry == nil:
		c.Fail(answer.TextNotFound)
		return nil
	case entry.Kind != catalog.Filter:
		c.Fail(answer.TextWrongType)
		return nil
	}
	return entry
}

// Look is Find for a command that runs outside the gate.
func Look(x *engine.Context, c *engine.Call) (entry *catalog.Entry) {
	x.Look(func() { entry = Find(x, c, c.Args[1]) })
	return entry
}

// Usable reports whether a filter may be changed as a whole: one whose secret key is not
// there is kept as it is. It answers if not.
func Usable(c *engine.Call, entry *catalog.Entry) bool {
	p := contents.PartOf(entry)
	if _, ok := p.Hasher(); !ok {
		c.Fail(MissingKey(p.Plan()))
		return false
	}
	return true
}

// MissingKey is the error of a filter whose secret key is not there.
func MissingKey(p *contents.Plan) string {
	name := "'" + p.KeyID + "' "
	if p.KeyID == "" {
		name = "" // loaded where the key was not: FILTER.INFO shows the fingerprint
	}
	return "ERR the secret key " + name + "of this filter is not in the file of keys: it is kept as it is, and cannot be used without"
}

// Advance lets time pass for the parts of a window.
func Advance(x *engine.Context, entry *catalog.Entry) (again bool) {
	for i, p := range contents.Parts(entry) {
		p.RLock()
		generation, due := p.Due(x.Milliseconds())
		due = due && !p.Gone()
		p.RUnlock()
		if due && x.Contents().Refresh(p, store.Record{ID: entry.ID, Index: uint32(i), Body: &store.FilterAdvance{Generation: generation}}) {
			again = true
		}
	}
	return again
}

// Settled reports whether a record of a part was applied. It answers if not.
func Settled(c *engine.Call, res *store.Result, failed answer.Reply) bool {
	switch {
	case failed.Kind != answer.None:
		c.Answer(failed)
	case res.Err != nil:
		c.Fail(Failure(res.Err))
	default:
		return true
	}
	return false
}

// Failure is the text of an error of a write.
func Failure(err error) string {
	switch {
	case refusal.NoRoom(err), errors.Is(err, contents.ErrMemory):
		return answer.TextOOM
	case errors.Is(err, bloomery.ErrFull):
		return "ERR filter is full"
	case errors.Is(err, store.ErrRebuilding):
		return TextRebuilding
	case errors.Is(err, contents.ErrSourced), errors.Is(err, contents.ErrOtherLoad):
		return "ERR " + strings.TrimPrefix(err.Error(), "store: ")
	default:
		return "ERR " + answer.OneLine(err)
	}
}

// Cause returns an error of the library without the words that are for programmers.
func Cause(err error) string {
	for _, sentinel := range []error{bloomery.ErrParameter, bloomery.ErrTooLarge} {
		if errors.Is(err, sentinel) {
			if _, rest, ok := strings.Cut(err.Error(), sentinel.Error()+": "); ok {
				return strings.Join(strings.Fields(rest), " ")
			}
		}
	}
	return answer.OneLine(err)
}
