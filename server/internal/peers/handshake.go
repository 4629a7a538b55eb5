package peers

// How two nodes meet.

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"
)

// A connection begins with
//
//	knock    magic (4 bytes), nonce (16), proof (16)                             to the listener, before TLS
//	hello    lowest version, highest version, from (4), to (4), proof (32)       to the listener, behind TLS
//	welcome  verdict (1), version (1), number (4), proof (32)                    back
//
// A proof is an HMAC under a key derived from the secret. That of the knock is of nonce and
// cluster: who knocks wrongly is not answered at all, and costs no more than that. The others are
// also of a number that both ends of this one TLS connection know and nobody else, so none is
// of use in another connection. Without TLS that number is the nonce.
const (
	magic        = "BLMP"
	knockBytes   = len(magic) + 16 + 16
	helloBytes   = 10 + sha256.Size
	welcomeBytes = 6 + sha256.Size

	lowest, highest = 1, 1 // versions of the protocol that this release speaks

	greetIn = 5 * time.Second // bounds a handshake
)

// Verdicts of a listener.
const (
	accepted = iota
	otherVersion
	otherNode // the listener has another number, or none yet: then it is starting
	tooMany
)

var (
	errStranger = errors.New("peers: it does not know the secret, or is of another cluster")
	errVersion  = errors.New("peers: the releases of the two nodes have no protocol in common")
	errNode     = errors.New("peers: another node is there")
	errStarting = errors.New("peers: the node there is starting")
	errMany     = errors.New("peers: it has too many connections")
)

var verdicts = map[byte]error{accepted: nil, otherVersion: errVersion, otherNode: errNode, tooMany: errMany}

func proofKey(secret string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "bloomery peers 1", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("peers: secret: %w", err)
	}
	return key, nil
}

// appendProof appends a proof of what is said to b. The parts of each kind of proof have fixed lengths.
func (n *Node) appendProof(b []byte, what string, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, n.key)
	for _, part := range append([][]byte{{byte(len(n.config.Cluster))}, []byte(n.config.Cluster), []byte(what)}, parts...) {
		_, _ = m.Write(part)
	}
	return m.Sum(b)
}

// secure puts TLS on a connection, and returns what both of its ends know and nobody else.
func secure(ctx context.Context, conn net.Conn, nonce []byte, with func(net.Conn, *tls.Config) *tls.Conn, c *tls.Config) (net.Conn, []byte, error) {
	if c == nil {
		return conn, nonce, nil
	}
	t := with(conn, c)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, nil, err
	}
	state := t.ConnectionState()
	bound, err := state.ExportKeyingMaterial("EXPORTER-bloomery-peers", nil, 32)
	return t, bound, err
}

// greet is the handshake of the node that dials another one.
func (n *Node) greet(ctx context.Context, conn net.Conn, host string, node uint32) (net.Conn, error) {
	knock := append([]byte(magic), make([]byte, 16)...)
	nonce := knock[len(magic):]
	_, _ = rand.Read(nonce) // it never fails
	knock = n.appendProof(knock, "knock", nonce)[:knockBytes]
	if _, err := conn.Write(knock); err != nil {
		return nil, err
	}
	config := n.config.TLS
	if config != nil && config.ServerName == "" {
		config = config.Clone()
		config.ServerName = host
	}
	conn, bound, err := secure(ctx, conn, nonce, tls.Client, config)
	if err != nil {
		return nil, hungUp(err)
	}
	n.mu.Lock()
	from := n.number
	n.mu.Unlock()
	hello := binary.LittleEndian.AppendUint32([]byte{lowest, highest}, from)
	hello = binary.LittleEndian.AppendUint32(hello, node)
	hello = n.appendProof(hello, "hello", bound, hello)
	if _, err := conn.Write(hello); err != nil {
		return nil, err
	}
	welcome := make([]byte, welcomeBytes)
	if _, err := io.ReadFull(conn, welcome); err != nil {
		return nil, hungUp(err)
	}
	said := welcome[:welcomeBytes-sha256.Size]
	if !hmac.Equal(welcome, n.appendProof(slices.Clip(said), "welcome", bound, hello, said)) {
		return nil, errStranger
	}
	err, known := verdicts[said[0]]
	number := binary.LittleEndian.Uint32(said[2:])
	switch {
	case !known || err == nil && (said[1] < lowest || said[1] > highest):
		return nil, errVersion
	case said[0] == otherNode && number == 0:
		return nil, errStarting
	case err != nil:
		return nil, err
	case number != node:
		return nil, errNode
	}
	return conn, nil
}

// hungUp returns what it means that a listener has closed a connection without a word.
func hungUp(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return errStranger
	}
	return err
}

// meet is the handshake of the node that was dialled. It returns who has dialled.
func (n *Node) meet(ctx context.Context, conn net.Conn) (secured net.Conn, from uint32, err error) {
	knock := make([]byte, knockBytes)
	if _, err := io.ReadFull(conn, knock); err != nil {
		return nil, 0, err
	}
	nonce := knock[len(magic) : len(magic)+16]
	want := n.appendProof([]byte(magic+string(nonce)), "knock", nonce)[:knockBytes]
	if !hmac.Equal(knock, want) {
		return nil, 0, errStranger
	}
	conn, bound, err := secure(ctx, conn, nonce, tls.Server, n.config.TLS)
	if err != nil {
		return nil, 0, err
	}
	hello := make([]byte, helloBytes)
	if _, err := io.ReadFull(conn, hello); err != nil {
		return nil, 0, err
	}
	said := hello[:helloBytes-sha256.Size]
	if !hmac.Equal(hello, n.appendProof(slices.Clip(said), "hello", bound, said)) {
		return nil, 0, errStranger
	}
	from = binary.LittleEndian.Uint32(said[2:])
	verdict, version, number := n.judge(said[0], said[1], binary.LittleEndian.Uint32(said[6:]))
	welcome := binary.LittleEndian.AppendUint32([]byte{verdict, version}, number)
	welcome = n.appendProof(welcome, "welcome", bound, hello, welcome)
	if _, err := conn.Write(welcome); err != nil {
		return nil, 0, err
	}
	return conn, from, verdicts[verdict]
}

// judge decides about a node that knows the secret.
func (n *Node) judge(low, high byte, to uint32) (verdict, version byte, number uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	version = min(high, highest)
	switch {
	case version < max(low, lowest):
		verdict = otherVersion
	case n.number == 0 || to != n.number:
		verdict = otherNode
	case len(n.lines) >= mostLines:
		verdict = tooMany
	}
	return verdict, version, n.number
}
