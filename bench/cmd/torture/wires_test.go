//go:build linux

package main

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// socket is a port of a node, from the side of the wires.
type socket struct{ in, out chan []byte }

func newSocket() *socket { return &socket{make(chan []byte, 16), make(chan []byte, 16)} }

func (s *socket) Read(b []byte) (int, error) {
	p, ok := <-s.in
	if !ok {
		return 0, io.EOF
	}
	return copy(b, p), nil
}

func (s *socket) Write(b []byte) (int, error) {
	s.out <- append([]byte(nil), b...)
	return len(b), nil
}

// packetTo is a packet of IPv4 to a node.
func packetTo(node int) []byte {
	p := make([]byte, 20)
	p[0] = 0x45
	copy(p[16:], roomAddr(node))
	return p
}

// TestWires carries packets, and loses and delays them as the rules say, one way only.
func TestWires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sockets := []*socket{newSocket(), newSocket(), newSocket()}
		w := newWires([]io.ReadWriter{sockets[0], sockets[1], sockets[2]})
		defer func() {
			for from, s := range sockets {
				close(s.in)
				for _, l := range w.links[from] {
					close(l.late)
				}
			}
			synctest.Wait()
		}()
		arrives := func(from, to int) bool {
			sockets[from].in <- packetTo(to)
			synctest.Wait()
			return len(sockets[to].out) == 1 && len(<-sockets[to].out) == 20
		}
		if !arrives(0, 1) || !arrives(1, 0) || !arrives(2, 1) {
			t.Fatal("a good wire loses packets")
		}
		w.set(0, 1, wire{Cut: true})
		if arrives(0, 1) {
			t.Error("a wire that is cut carries packets")
		}
		if !arrives(1, 0) || !arrives(0, 2) {
			t.Error("a cut concerns another wire")
		}
		w.set(0, 1, wire{Loss: 1})
		if arrives(0, 1) {
			t.Error("a wire that loses all carries packets")
		}
		w.set(0, 1, wire{Delay: 100 * time.Millisecond})
		if arrives(0, 1) {
			t.Error("a slow wire is fast")
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if len(sockets[1].out) != 1 {
			t.Fatal("a slow wire loses packets")
		}
		<-sockets[1].out
		w.mend()
		if !arrives(0, 1) {
			t.Error("a wire that was mended loses packets")
		}
		sockets[0].in <- []byte{0x60, 1, 2}
		sockets[0].in <- packetTo(9)
		synctest.Wait()
		if len(sockets[1].out)+len(sockets[2].out) != 0 {
			t.Error("packets to nobody arrive")
		}
	})
}
