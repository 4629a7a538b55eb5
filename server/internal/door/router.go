package door

// Doors whose machines hold different contents.

import (
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Router is a Shared door whose machines may hold different contents, and run commands for
// each other. What is asked and answered is the engine's: the door knows when it may be.
type Router interface {
	Shared
	// OnQuestion has this machine answer the questions of others by run, from several
	// goroutines. The answer may have room bytes. What waits, or takes long, calls aside first:
	// until then other questions of the same machine may wait. It is called before Start.
	OnQuestion(run func(body []byte, room int, aside func()) []byte)
	// Holders returns the other machines that hold a shard and were heard of lately, or else are starting, the
	// nearest first. The list is not the caller's.
	Holders(shard int) []uint32
	// Takers returns the other machines, in the order of their numbers, that are to have what a record
	// makes, if that is much of what they have left.
	Takers(r *store.Record) []Taker
	// TakersOf is Takers for n bytes more of a part.
	TakersOf(p *contents.Part, n uint64) []Taker
	// Self returns the number of this machine.
	Self() uint32
	// Ask asks one of the machines, those in front first. A machine answers when it has
	// all that this one has of the names and of the lanes of q. A question that writes is
	// asked of another one only if nothing was done, and the answer is returned when all
	// that it depends on is applied here; another question is asked of the next machine
	// as well if it takes long. Errors wrap ErrDown if nothing was done, or ErrUnknown.
	Ask(nodes []uint32, q *Question) (Answer, error)
	// Begin is Ask for whoever asks several machines, and then waits for all of them.
	Begin(nodes []uint32, q *Question) Asking
	// Again waits for a moment, and reports whether machines that were asked in vain are to be asked again: less time has
	// passed since the first question than an answer may take, and this machine goes on.
	Again(began time.Time) bool
	// Lacks reports whether answers of other machines that were returned here depend on
	// something that is not applied here, and CatchUp waits until it is. The error is that
	// of Follow.
	Lacks() bool
	CatchUp() error
	// Follow returns when the names are here that a machine had which has answered. The
	// error wraps ErrRefused or ErrUnknown.
	Follow(a Answer) error
}

// Taker is a machine that is to have so many bytes of something.
type Taker struct {
	Node  uint32
	Bytes uint64
}

// Question is commands for another machine.
type Question struct {
	Lanes  []int // of the contents that they are about
	Body   []byte
	Room   int // of the body of the answer
	Writes bool
	// Patience is how long the answer is waited for, 0 for as long as it may take: the caller may have others to ask.
	Patience time.Duration
	// Last means that whoever answers asks nobody. Questions that write and are not the last may
	// wait for those that are, never the other way round.
	Last bool
}

// Asking is a question on its way. It is for one goroutine at a time.
type Asking interface {
	// Soon waits for the answer, though not for long, and reports whether Answer returns it at once.
	Soon() bool
	// Answer returns what Ask does. It must be called, once: then the Asking is over.
	Answer() (Answer, error)
}

// Answer is what another machine has answered.
type Answer struct {
	Body  []byte
	Place uint64 // of the names there
}

// HedgeAfter is how long a read waits for a machine before the next one is asked as well: half of what a client may notice.
const HedgeAfter = 25 * time.Millisecond

// MaxQuestion is how long the body of a question, or of an answer, may be.
const MaxQuestion = 1<<20 - 4<<10
