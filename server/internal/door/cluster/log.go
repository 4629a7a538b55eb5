package cluster

// Log: the replicated streams that a cluster stands on.

import (
	"context"
	"errors"
)

// Log is a set of streams, one a lane, that are replicated and durable: a message
// that a tail delivers is kept by a quorum, at the sequence under which every tail
// delivers it. Lane 0, the catalogue, is there from the start.
//
// Safe for concurrent use.
type Log interface {
	// Lanes makes lanes 1 to n+1 usable. It is called once, when the catalogue
	// has named n, before any other call for them. Lanes that are missing are
	// made if create is set; if not, they are an error: this node has data of
	// them.
	Lanes(n int, create bool) error
	// Publish sends a message to a lane and calls done once, from any goroutine,
	// after some seconds at the latest. nil means that the message is kept; an
	// error that nobody knows, or ErrFull. It does not wait. Nobody changes msg.
	Publish(lane int, msg []byte, done func(error))
	// Tail calls took for every message of a lane from a sequence on, in order,
	// from one goroutine, until stop has returned. It goes on by itself when a
	// connection breaks. It may deliver a message again; what was purged it
	// leaves out. msg is the log's again when took has returned.
	Tail(lane int, from uint64, took func(seq uint64, msg []byte)) (stop func(), err error)
	// Head returns the first and the last sequence of a lane, as its leader knows
	// them. A lane without messages has last = first-1.
	Head(lane int) (first, last uint64, err error)
	// Read returns the message at a sequence of a lane, as its leader has it, and
	// nil if the lane has none there.
	Read(lane int, seq uint64) ([]byte, error)
	// Purge drops all messages below a sequence.
	Purge(lane int, below uint64) error
}

// ErrFull is wrapped by the error of a publication that a stream refuses, since it
// has no room.
var ErrFull = errors.New("cluster: the stream is full")

// Leaders is a Log that knows which server leads a lane.
type Leaders interface {
	// Leader returns the name of the server, "" if it is not known. lost means that the lane did not
	// answer when it was asked for one, and that no election was heard of since.
	Leader(lane int) (server string, lost bool)
}

// Watched is a Log that knows what is wrong with its copies.
type Watched interface {
	// Problems returns what an operator should look at, in words.
	Problems() []string
}

// Voters is a Log on servers of which some keep the streams and decide by votes, and
// one of them can be replaced. A server has its name for life: one that has lost its
// folder gets another, since it must not vote for what it has forgotten.
//
// Safe for concurrent use.
type Voters interface {
	// Server returns the name of the server of this node, "" if it has none.
	Server() string
	// Servers returns those that vote, as the one that leads them sees them.
	// Known is what it last returned; it does not wait.
	Servers(ctx context.Context) ([]Voter, error)
	Known() []Voter
	// Votes reports whether a voter is the server with a name.
	Votes(v Voter, server string) bool
	// Healthy returns nil if the server of this node keeps streams and has all
	// of those that it keeps.
	Healthy() error
	// Promote has the server of this node keep streams, if it does not.
	Promote() error
	// Copies counts the streams, and what a server has of them.
	Copies(ctx context.Context, server string) (Copies, error)
	// Move begins to move one of the streams of a server, which lives or not, to
	// another. It does not wait.
	Move(ctx context.Context, server string, lives bool) error
	// Dismiss removes a server from those that vote.
	Dismiss(ctx context.Context, server string) error
	// Judge has servers that start and ask whether they were removed be answered.
	Judge(removed func(server string) (left, known bool))
	// Retire has the server of this node never start again.
	Retire() error
}

// Vouching is a Log whose servers ask others for a claim before they vote.
type Vouching interface {
	// Vouch has claims of others be answered.
	Vouch(answer func(question []byte) []byte)
}

// Voter is a server that keeps streams.
type Voter struct {
	Server  string
	ID      string
	Current bool // it has all that the others have
	Offline bool
}

// Copies is what a server has of the streams.
type Copies struct {
	Streams int // all of them
	Of      int // those that the server has a copy of
	Whole   int // those that have all their copies
	Moving  int // those that have no leader, or whose copies are being moved
}

// Peers is how nodes talk to each other beside the log. Nothing that has to be
// right depends on it: beats are hints, and answers are checked.
//
// Safe for concurrent use.
type Peers interface {
	// Announce sends a beat to all other nodes. It does not wait, and beats may
	// be lost.
	Announce(beat []byte)
	// Ask sends a question to a node and returns its answer.
	Ask(ctx context.Context, node uint32, question []byte) ([]byte, error)
	// Serve takes beats, and questions to a node, until stop has returned. Node 0
	// is asked nothing.
	Serve(node uint32, beat func([]byte), answer func(question []byte) []byte) (stop func(), err error)
}
