// Tests of cluster status and cluster secret.

package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
)

// expired is a context whose time is over when a channel is closed.
type expired struct {
	context.Context
	over chan struct{}
}

func (c expired) Done() <-chan struct{} { return c.over }

func (c expired) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestClusterStatusOfAStartingNode asks a server that takes connections and answers
// nothing, as a node does that waits for its cluster: the error says so.
func TestClusterStatusOfAStartingNode(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx := expired{t.Context(), make(chan struct{})}
	go func() {
		defer close(ctx.over)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = nc.Read(make([]byte, 1)) // it has asked
		t.Cleanup(func() { _ = nc.Close() })
	}()
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"cluster", "status", "--addr", l.Addr().String()}, strings.NewReader(""), &out, &errOut)
	if code != 2 || !strings.Contains(errOut.String(), "no answer within") || !strings.Contains(errOut.String(), "what it waits for") {
		t.Errorf("cluster status = %d, %q", code, errOut.String())
	}
}
