package nats

// TLS between nodes.

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// derivedName is the name in the certificates that are derived from a secret.
const derivedName = "cluster.bloomery.internal"

// Security returns the TLS of connections between nodes, nil for none.
func (c *Config) Security() (*tls.Config, error) {
	switch {
	case c.Secret == "":
		return nil, nil
	case c.TLS != nil:
		return c.TLS, nil
	}
	return secretTLS(c.Secret)
}

// secretTLS returns the TLS of nodes that share a secret. The key of the certificate
// is derived from it, and the certificate is the only authority: who can show one
// knows the secret. So the secret is all that a cluster needs.
func secretTLS(secret string) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, []byte(secret), nil, "bloomery cluster certificate 1", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("cluster: secret: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: derivedName},
		DNSNames:     []string{derivedName},
		NotBefore:    time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("cluster: certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("cluster: certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ServerName:   derivedName,
		RootCAs:      pool,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}, nil
}
