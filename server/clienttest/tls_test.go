package clienttest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/bloomery/bloomery/server"
)

// certified returns TLS of a server, which asks its clients for a certificate, and of
// a client that has one.
func certified(t *testing.T) (ours, theirs *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	pair := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
		&tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// TestGoRedisTLS has many goroutines work over TLS, by single commands and pipelines,
// with connections that come and go.
func TestGoRedisTLS(t *testing.T) {
	ours, theirs := certified(t)
	addr := start(t, server.Config{TLS: ours, Password: "secret"})
	c := goredis.NewClient(&goredis.Options{Addr: addr, Password: "secret", TLSConfig: theirs, PoolSize: 8, ConnMaxLifetime: 50 * time.Millisecond})
	defer c.Close()
	var wg sync.WaitGroup
	for id := range 8 {
		wg.Go(func() {
			ctx := context.Background()
			for round := range 20 {
				p := c.Pipeline()
				var added []*goredis.BoolCmd
				for i := range 100 {
					added = append(added, p.BFAdd(ctx, "b"+strconv.Itoa(id), strconv.Itoa(100*round+i)))
				}
				if _, err := p.Exec(ctx); err != nil {
					t.Errorf("pipeline: %v", err)
					return
				}
				if got, err := c.BFExists(ctx, "b"+strconv.Itoa(id), strconv.Itoa(100*round)).Result(); err != nil || !got {
					t.Errorf("BFExists = %t, %v, want true", got, err)
				}
				if len(added) != 100 {
					t.Errorf("%d replies", len(added))
				}
			}
		})
	}
	wg.Wait()
	theirs = theirs.Clone()
	theirs.Certificates = nil
	bare := goredis.NewClient(&goredis.Options{Addr: addr, Password: "secret", TLSConfig: theirs, MaxRetries: -1})
	defer bare.Close()
	if err := bare.Ping(t.Context()).Err(); err == nil {
		t.Error("a client without a certificate is served")
	}
}

func TestRueidisTLS(t *testing.T) {
	ours, theirs := certified(t)
	addr := start(t, server.Config{TLS: ours})
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, TLSConfig: theirs, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var commands rueidis.Commands
	for i := range 1000 {
		commands = append(commands, c.B().BfAdd().Key("b").Item(strconv.Itoa(i)).Build())
	}
	for i, r := range c.DoMulti(t.Context(), commands...) {
		if _, err := r.AsBool(); err != nil {
			t.Fatalf("BF.ADD %d: %v", i, err)
		}
	}
	if got, err := c.Do(t.Context(), c.B().BfExists().Key("b").Item("999").Build()).AsBool(); err != nil || !got {
		t.Errorf("BF.EXISTS = %t, %v, want true", got, err)
	}
}
