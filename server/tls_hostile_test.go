package server_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// firstFlight returns what a client sends first in a handshake.
func firstFlight(t *testing.T, config *tls.Config) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		_ = tls.Client(theirs, config).Handshake()
	}()
	b := make([]byte, 16<<10)
	n, err := io.ReadAtLeast(ours, b, 100)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = ours.Close(), theirs.Close()
	return b[:n]
}

// TestHostileHandshakes has clients begin handshakes and do everything but end them:
// others are served meanwhile, and nothing is left of them.
func TestHostileHandshakes(t *testing.T) {
	t.Parallel()
	config, _, trusted := secured(t, server.Config{WriteTimeout: 5 * time.Second, MaxClients: 1000})
	addr := start(t, config)
	steady := dialTLS(t, addr, trusted)
	steady.expect("+PONG\r\n", "PING")
	hello := firstFlight(t, trusted)
	rng := rand.New(rand.NewPCG(3, 4))
	habits := []func(net.Conn, *rand.Rand){
		func(net.Conn, *rand.Rand) {}, // silence
		func(nc net.Conn, rng *rand.Rand) { _, _ = nc.Write(hello[:rng.IntN(len(hello))]) },
		func(nc net.Conn, _ *rand.Rand) { _, _ = nc.Write(hello) }, // and then nothing
		func(nc net.Conn, rng *rand.Rand) { // changed somewhere
			b := append([]byte(nil), hello...)
			b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
			_, _ = nc.Write(b)
		},
		func(nc net.Conn, rng *rand.Rand) { // garbage
			b := make([]byte, rng.IntN(1000))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			_, _ = nc.Write(b)
		},
		func(nc net.Conn, _ *rand.Rand) { _, _ = nc.Write([]byte{22, 3, 1, 0xff, 0xff, 1}) }, // a record of 64 KiB
		func(nc net.Conn, _ *rand.Rand) { _, _ = nc.Write([]byte{22, 3, 1, 0, 0, 22, 3, 1, 0, 0}) },
		func(nc net.Conn, _ *rand.Rand) { // drop by drop
			for _, x := range hello {
				if _, err := nc.Write([]byte{x}); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		},
		func(nc net.Conn, _ *rand.Rand) { // and is gone
			_, _ = nc.Write(hello)
			_ = nc.(*net.TCPConn).SetLinger(0)
			_ = nc.Close()
		},
		func(nc net.Conn, _ *rand.Rand) { // the end of the stream instead of an answer
			_, _ = nc.Write(hello)
			_ = nc.(*net.TCPConn).CloseWrite()
		},
	}
	const each = 1 + 11/chaosFactor
	var wg sync.WaitGroup
	for i := range each * len(habits) {
		nc := dial(t, addr).nc
		seed := rng.Uint64()
		wg.Go(func() { habits[i%len(habits)](nc, rand.New(rand.NewPCG(seed, 5))) })
	}
	for began := time.Now(); time.Since(began) < time.Second; {
		aliveTLS(t, addr, trusted)
		steady.expect("+PONG\r\n", "PING")
	}
	// Those that go on drop by drop would take half a minute.
	waitFor(t, func() bool { return strings.Count(steady.do("CLIENT", "LIST"), "id=") == 1 }, "handshakes are left")
	wg.Wait()
}

// TestHandshakesLeaveRoom has more clients hang in their handshake than there is room
// for: they count as clients, no more than a share of them, and those that are stuck
// give way to new ones.
func TestHandshakesLeaveRoom(t *testing.T) {
	t.Parallel()
	const most, share = 80, 20
	config, _, trusted := secured(t, server.Config{MaxClients: most})
	config.Addr = []string{"127.0.0.1:0", "plain:127.0.0.1:0"}
	addr := start(t, config)
	steady := dialTLS(t, addr, trusted)
	lines := strings.Split(steady.do("CONFIG", "GET", "port"), "\r\n")
	plain := "127.0.0.1:" + lines[4]
	for range share {
		dial(t, addr)
	}
	waitFor(t, func() bool { return strings.Count(steady.do("CLIENT", "LIST"), "id=") == share+1 }, "handshakes count as clients")
	// All places for handshakes are taken by clients that have just come: the
	// next one is refused. Others are served. On a machine that is late they have
	// come long ago, and give way: then as many come again.
	waitFor(t, func() bool {
		for range share {
			dial(t, addr)
		}
		c := dialTLS(t, addr, trusted)
		defer func() { _ = c.nc.Close() }()
		return c.tlsConn().Handshake() != nil
	}, "there is no limit on handshakes")
	dial(t, plain).expect("+PONG\r\n", "PING")
	for range 3 * share {
		waitFor(t, func() bool { // those that are stuck give way, when they have been for a while
			c := dialTLS(t, addr, trusted)
			defer func() { _ = c.nc.Close() }()
			return c.tlsConn().Handshake() == nil
		}, "clients that are stuck do not give way")
	}
	for range 2 * share {
		dial(t, addr)
	}
	// Two have ended their handshakes and stay; that the others have left takes a moment.
	waitFor(t, func() bool { return strings.Count(steady.do("CLIENT", "LIST"), "id=") <= share+2 }, "more handshakes than there is room for")
	for i := range most - share - 5 {
		c := dial(t, plain)
		if got := c.do("PING"); got != "+PONG\r\n" {
			t.Fatalf("client %d beside handshakes: %q", i, got)
		}
	}
}

// waitFor waits for what no event is sent of; what is the error if that does not come.
func waitFor(t *testing.T, ok func() bool, what string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(what)
		}
	}
}

// TestHostileRecords sends what is no record, or none of this connection, behind a
// handshake that is good.
func TestHostileRecords(t *testing.T) {
	config, _, trusted := secured(t, server.Config{WriteTimeout: 2 * time.Second})
	addr := start(t, config)
	for i, b := range [][]byte{
		{23, 3, 3, 0xff, 0xff, 1, 2, 3},                                   // too long
		append([]byte{23, 3, 3, 0, 40}, make([]byte, 40)...),              // not sealed by these keys
		append([]byte{22, 3, 3, 0, 4}, 0, 0, 0, 0),                        // a new handshake
		{21, 3, 3, 0, 2, 2, 40},                                           // an alert in clear
		[]byte("PING\r\n"),                                                // no TLS
		{0x80, 0x2e, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10, 1, 0, 0x80, 7, 0},   // SSL 2
		append([]byte{23, 3, 3, 0x40, 0x11}, make([]byte, 0x4011+300)...), // as long as can be, and wrong
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			trusted := trusted.Clone()
			trusted.MaxVersion = version
			c := dialTLS(t, addr, trusted)
			c.expect("+PONG\r\n", "PING")
			_, _ = c.nc.Write(request("PING")) // is answered
			if got := c.reply(); got != "+PONG\r\n" {
				t.Errorf("before %d: %q", i, got)
			}
			_, _ = c.tlsConn().NetConn().Write(b)
			if !c.ended() {
				t.Errorf("record %d, version %x: the connection is open", i, version)
			}
		}
	}
	aliveTLS(t, addr, trusted)
}

// recordsOf returns what seals records of a type in the place of a client that has
// done nothing but its handshake, in TLS 1.3.
func recordsOf(t *testing.T, keyLog string) func(kind byte, data []byte) []byte {
	t.Helper()
	var secret []byte
	for line := range strings.Lines(keyLog) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "CLIENT_TRAFFIC_SECRET_0" {
			secret, _ = hex.DecodeString(words[2])
		}
	}
	derive := func(label string, n int) []byte {
		label = "tls13 " + label
		key, err := hkdf.Expand(sha256.New, secret, "\x00"+string(rune(n))+string(rune(len(label)))+label+"\x00", n)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	nonce := derive("iv", 12)
	block, err := aes.NewCipher(derive("key", 16))
	if err != nil {
		t.Fatal(err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	count := byte(0)
	return func(kind byte, data []byte) []byte {
		data = append(slices.Clip(data), kind)
		head := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(data)+seal.Overhead()))
		now := append([]byte(nil), nonce...)
		now[len(now)-1] ^= count
		count++
		return seal.Seal(head, now, data, head)
	}
}

// TestUnfinishedHandshakeMessages sends much of a message that belongs to a handshake
// and never ends, before the first command and behind one: nobody keeps it.
func TestUnfinishedHandshakeMessages(t *testing.T) {
	config, _, trusted := secured(t, server.Config{})
	addr := start(t, config)
	long := append([]byte{24, 0, 0xff, 0xff}, make([]byte, 16<<10-4)...) // new keys, of 64 KiB
	for name, begin := range map[string][]byte{"at once": nil, "behind a command": request("PING"), "bit by bit": {}} {
		var keys strings.Builder
		trusted := trusted.Clone()
		trusted.MinVersion, trusted.KeyLogWriter = tls.VersionTLS13, &keys
		c := dialTLS(t, addr, trusted)
		if err := c.tlsConn().Handshake(); err != nil {
			t.Fatal(err)
		}
		if c.tlsConn().ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
			t.Skip("another cipher suite is preferred on this machine")
		}
		record, raw := recordsOf(t, keys.String()), c.tlsConn().NetConn()
		switch {
		case begin == nil:
			_, _ = raw.Write(record(22, long))
		case len(begin) > 0: // in one packet
			_, _ = raw.Write(append(record(23, begin), record(22, long)...))
			if got := c.reply(); got != "+PONG\r\n" {
				t.Errorf("%s: %q", name, got)
			}
		default:
			for i := range 16 {
				_, _ = raw.Write(record(22, long[i<<9:(i+1)<<9]))
				time.Sleep(10 * time.Millisecond)
			}
		}
		if !c.ended() {
			t.Errorf("%s: the connection is open", name)
		}
	}
	// The same in the handshake itself.
	c := dial(t, addr)
	for range 3 {
		_, _ = c.nc.Write(append([]byte{22, 3, 1, 0x40, 0}, append([]byte{1, 0, 0xff, 0xff}, make([]byte, 16<<10-4)...)...))
	}
	if !c.ended() {
		t.Error("a handshake of 48 KiB is waited for")
	}
	aliveTLS(t, addr, trusted)
}

// TestManyTLSClients connects many at once: all are served, and those that are there
// do not wait for handshakes of others.
func TestManyTLSClients(t *testing.T) {
	config, _, trusted := secured(t, server.Config{})
	addr := start(t, config)
	steady := dialTLS(t, addr, trusted)
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := 0
	for i := range 100 / chaosFactor {
		wg.Go(func() {
			serve := func() error {
				nc, err := tls.Dial("tcp", addr, trusted)
				if err != nil {
					return err
				}
				defer func() { _ = nc.Close() }()
				_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
				var reply [7]byte
				_, _ = nc.Write(request("PING"))
				_, err = io.ReadFull(nc, reply[:])
				return err
			}
			err := serve()
			for try := 1; err != nil && try < 5; try++ { // on a busy machine, so many handshakes take longer than one may
				err = serve()
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				if failed++; failed == 1 {
					t.Errorf("client %d: %v", i, err)
				}
			}
		})
	}
	steady.expect("+PONG\r\n", "PING")
	wg.Wait()
	steady.expect(fmt.Sprintf("$%d\r\n%s\r\n", 5, "still"), "ECHO", "still")
}
