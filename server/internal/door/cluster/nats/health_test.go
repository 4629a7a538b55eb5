package nats

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// TestMissingCopies asks which copies of a stream count as missing, and what an operator
// is told.
func TestMissingCopies(t *testing.T) {
	missing := map[string]bool{}
	for _, name := range silent([]*nats.PeerInfo{
		{Name: "join1-current", Current: true, Active: time.Hour}, // nothing was written for so long
		{Name: "join2-late", Active: time.Second},
		{Name: "join3-gone", Offline: true, Active: time.Second},
		{Name: "join2-silent", Active: time.Minute},
		{Name: "other", Active: time.Minute},
		{Name: "join1-self", Active: time.Minute}, // without a majority a server says so of itself
		{Name: "Server name unknown at this time (peerID: xyz)", Offline: true},
	}) {
		missing[name] = true
	}
	l := &Log{config: Config{Join: []string{"a:1", "b:1", "c:1"}}, name: "join1-self"}
	l.note(missing)
	want := []string{
		"the log has a copy less: that of a log node that has not been up since the others started is missing",
		"the log has a copy less: that of b:1 is missing",
		"the log has a copy less: that of c:1 is missing",
		"the log has a copy less: that of other is missing",
	}
	if got := l.Problems(); !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
	if l.note(nil); len(l.Problems()) > 0 {
		t.Errorf("problems %q when all are back", l.Problems())
	}
}

// TestDamagedLog asks that a node whose streams cannot be opened says what to do, and one
// whose address is taken which setting to change.
func TestDamagedLog(t *testing.T) {
	c := &Config{Addr: "a:1", Dir: "data/log"}
	if err := startError(c, errors.New("Can't start JetStream: raft: snapshot corrupt")); !strings.Contains(err.Error(), "if data/log is damaged, move it away") {
		t.Errorf("error %v", err)
	}
	if err := startError(c, errors.New("Error listening on router port")); strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), "cluster-addr is to be") {
		t.Errorf("error %v", err)
	}
}

// testElections has the leader of a lane step down: a node fails what it has sent to the
// lane when another one leads, so that it is sent again at once.
func testElections(t *testing.T, logs []*Log) {
	t.Helper()
	const lane = 2
	for end := time.Now().Add(patience); ; {
		done := make(chan error, 1)
		logs[0].acks.expect(lane, func(err error) { done <- err }) // nobody answers
		var answer natsd.JSApiStreamLeaderStepDownResponse
		err := request(t.Context(), logs[1].conn, fmt.Sprintf(natsd.JSApiStreamLeaderStepDownT, logs[0].stream(lane)), struct{}{}, &answer)
		if err == nil {
			err = <-done
		}
		if errors.Is(err, errElected) {
			break
		}
		if time.Now().After(end) { // on a machine under load ackIn may be over first
			t.Fatalf("after an election the answer to a message is %v, want %v", err, errElected)
		}
	}
}
