package refusal_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
)

// node is a machine of a cluster that may lack what others have.
type node struct {
	door.Shared
	lacks error
}

func (n node) Current() error { return n.lacks }

// TestRecord asks for the code of every way in which a record may not be kept: clients send
// again by it, or do not.
func TestRecord(t *testing.T) {
	here := node{}
	gone := node{lacks: errors.New("removed")}
	for _, tt := range []struct {
		shared door.Shared
		err    error
		want   string
	}{
		{nil, fmt.Errorf("%w: the disk\nis full", door.ErrRefused), "MISCONF Writes are refused, reads go on: the log cannot be written (door: writes are refused: the disk is full)."},
		{here, fmt.Errorf("%w: no leader", door.ErrDown), "CLUSTERDOWN Writes are refused, reads go on (no leader)"},
		{gone, fmt.Errorf("%w: it was removed", door.ErrRefused), "CLUSTERDOWN This node no longer serves (it was removed)"},
		{gone, fmt.Errorf("%w: it starts", door.ErrBehind), "LOADING it starts"},
		{here, fmt.Errorf("%w: cluster: 3 s passed", door.ErrUnknown), "UNKNOWN the write may be kept or not (3 s passed)"},
		{nil, fmt.Errorf("%w: here", door.ErrUnknown), "UNKNOWN the write may be kept or not (here)"},
		{nil, door.ErrMemory, answer.TextOOM},
		{here, fmt.Errorf("of f: %w", door.ErrMemory), answer.TextOOM},
		{here, fmt.Errorf("%w: 9 MiB", refusal.ErrTooLong), "ERR too long: 9 MiB"},
		{here, fmt.Errorf("%w: two filters", door.ErrGroup), "ERR door: not a group: two filters"},
	} {
		if got := refusal.Record(tt.shared, tt.err); got.Kind != answer.Error || got.Text != tt.want {
			t.Errorf("%v: %s, want %s", tt.err, got.Text, tt.want)
		}
	}
}

// TestRead asks for the code of a read that nobody can bring up to date.
func TestRead(t *testing.T) {
	err := fmt.Errorf("%w: no leader", door.ErrDown)
	for _, tt := range []struct {
		shared node
		want   string
	}{
		{node{}, "CLUSTERDOWN The read cannot be brought up to date; FILTER.READ LOCAL reads what is here (no leader)"},
		{node{lacks: err}, "CLUSTERDOWN This node no longer serves (no leader)"},
	} {
		if got := refusal.Read(tt.shared, err).Text; got != tt.want {
			t.Errorf("a read: %s, want %s", got, tt.want)
		}
	}
}

// TestNews asks for the code of news that nobody can bring up to date.
func TestNews(t *testing.T) {
	down, behind := fmt.Errorf("%w: no leader", door.ErrDown), fmt.Errorf("%w: it starts", door.ErrBehind)
	for _, tt := range []struct {
		shared node
		err    error
		want   string
	}{
		{node{}, down, "CLUSTERDOWN This node cannot tell whether a copy lacks something: ask another one (no leader)"},
		{node{lacks: down}, down, "CLUSTERDOWN This node no longer serves (no leader)"},
		{node{lacks: behind}, behind, "LOADING it starts"},
	} {
		if got := refusal.News(tt.shared, tt.err).Text; got != tt.want {
			t.Errorf("news: %s, want %s", got, tt.want)
		}
	}
}

// TestNoRoom tells a want of memory from other errors.
func TestNoRoom(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, fmt.Errorf("f: %w", door.ErrMemory): true, fmt.Errorf("f: %w", contents.ErrRoom): true, door.ErrRefused: false, contents.ErrRetry: false,
	} {
		if got := refusal.NoRoom(err); got != want {
			t.Errorf("NoRoom(%v) = %t", err, got)
		}
	}
}

// TestCause asks for errors of doors without words of packages.
func TestCause(t *testing.T) {
	for _, text := range []string{"node 1: there is no connection", "cluster: node 1: there is no connection", "peers: the question was not asked: node 1: there is no connection"} {
		if got := refusal.Cause(errors.New(text)); got != "node 1: there is no connection" {
			t.Errorf("%s = %s", text, got)
		}
	}
}
