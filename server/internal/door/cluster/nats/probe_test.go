package nats

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/ports"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := new(authority)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.key = template, nil
	certificate := a.sign(t, template)
	a.cert, a.key = certificate.Leaf, certificate.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// sign makes a key and a certificate from a template, signed by a or, without a key of
// it, by itself.
func (a *authority) sign(t *testing.T, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// node returns the TLS of a node at 127.0.0.1, after its certificate was changed.
func (a *authority) node(t *testing.T, change func(*x509.Certificate)) *tls.Config {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{a.sign(t, template)},
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// serverOf starts a server without streams and returns its configuration.
func serverOf(t *testing.T, secret string, security *tls.Config) Config {
	t.Helper()
	addrs := ports.Free(t, 3)
	c := Config{Cluster: "test", Addr: addrs[0], Join: addrs, Secret: secret, TLS: security, Log: slog.New(slog.DiscardHandler)}
	e, err := start(&c, "server", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.close)
	return c
}

// TestRefused asks that a node that log nodes do not let in is told why.
func TestRefused(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	both := ours.node(t, nil) // it trusts two authorities, the server one
	both.RootCAs.AddCert(theirs.cert)
	both.Certificates = theirs.node(t, nil).Certificates
	other := "another secret of the tests, long"
	plain, derived, certified := serverOf(t, "", nil), serverOf(t, secret, nil), serverOf(t, secret, ours.node(t, nil))
	for name, tt := range map[string]struct {
		server  Config
		cluster string
		secret  string
		tls     *tls.Config
		want    string // "" if it is let in
	}{
		"no secret on both":       {plain, "test", "", nil, ""},
		"the same secret":         {derived, "test", secret, nil, ""},
		"certificates":            {certified, "test", secret, ours.node(t, nil), ""},
		"another name":            {plain, "other", "", nil, `cluster name "other" does not match`},
		"no secret":               {derived, "test", "", nil, "this node has no secret"},
		"no secret, certificates": {certified, "test", "", nil, "this node has no secret"},
		"no secret there":         {plain, "test", secret, nil, "has no secret, and this node has one"},
		"another secret":          {derived, "test", other, nil, "the secrets differ"},
		"wrong password":          {certified, "test", other, ours.node(t, nil), "has another secret"},
		"no certificates":         {certified, "test", secret, nil, "one side has certificates"},
		"wrong authority":         {certified, "test", secret, theirs.node(t, nil), "is not accepted here"},
		"refused certificate":     {certified, "test", secret, both, "does not accept the certificate of this node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Config{Cluster: tt.cluster, Secret: tt.secret, TLS: tt.tls}
			security, err := c.Security()
			if err != nil {
				t.Fatal(err)
			}
			// On a machine under load an answer may come too late.
			for end := time.Now().Add(patience); time.Now().Before(end); {
				if err = c.tryRoute(t.Context(), tt.server.Addr, security); err == nil || errors.Is(err, errRefused) {
					break
				}
			}
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (!errors.Is(err, errRefused) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want %v that says: %s", err, errRefused, tt.want)
			}
		})
	}
	// One log node that refuses is logged; most of them are the end.
	silent := ports.Free(t, 1)[0]
	for _, tt := range []struct {
		join []string
		ends bool
	}{
		{[]string{silent, derived.Addr, plain.Addr}, false},
		{[]string{derived.Addr, certified.Addr, plain.Addr}, true},
		{[]string{silent, silent, silent}, false},
	} {
		l := &Log{config: Config{Cluster: "test", Addr: "127.0.0.1:1", Join: tt.join, Log: slog.New(slog.DiscardHandler)}}
		err := l.probe(t.Context())
		for end := time.Now().Add(patience); tt.ends && err == nil && time.Now().Before(end); {
			err = l.probe(t.Context())
		}
		if errors.Is(err, errRefused) != tt.ends {
			t.Errorf("%v: error %v, want one: %v", tt.join, err, tt.ends)
		}
	}
}

// TestOwnCertificate asks that a certificate that others would refuse is found at the
// start.
func TestOwnCertificate(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	foreign := ours.node(t, nil)
	foreign.Certificates = theirs.node(t, nil).Certificates
	for name, tt := range map[string]struct {
		tls  *tls.Config
		want string
	}{
		"none":    {nil, ""},
		"right":   {ours.node(t, nil), ""},
		"foreign": {foreign, "unknown authority"},
		"expired": {ours.node(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "expired"},
		"early":   {ours.node(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), "not yet valid"},
		"host":    {ours.node(t, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)} }), "reach this node at 127.0.0.1:1"},
		"server":  {ours.node(t, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }), "clientAuth"},
		"client":  {ours.node(t, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }), "serverAuth"},
	} {
		err := (&Config{Addr: "127.0.0.1:1", TLS: tt.tls}).checkCertificate(time.Now())
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

// TestLogsRepeatRarely asks that what a server reports again and again is logged now
// and then.
func TestLogsRepeatRarely(t *testing.T) {
	l, now := new(logs), time.Now()
	for i, tt := range []struct {
		text  string
		after time.Duration
		often bool
	}{
		{"10.0.0.1:4512 - rid:5 - TLS route handshake error: EOF", 0, false},
		{"10.0.0.1:4513 - rid:6 - TLS route handshake error: EOF", time.Second, true},
		{"10.0.0.2:4513 - rid:7 - TLS route handshake error: EOF", time.Second, false},
		{"Error trying to connect to route (attempt 1): dial tcp 10.0.0.1:6380: refused", 0, false},
		{"Error trying to connect to route (attempt 2): dial tcp 10.0.0.1:6380: refused", 0, true},
		{"Error trying to connect to route (attempt 2): dial tcp 10.0.0.1:6381: refused", 0, false},
		{"10.0.0.1:4514 - rid:8 - TLS route handshake error: EOF", sayAgain, false},
	} {
		now = now.Add(tt.after)
		if got := l.often(tt.text, now); got != tt.often {
			t.Errorf("%d: %s: said lately: %v, want %v", i, tt.text, got, tt.often)
		}
	}
}
