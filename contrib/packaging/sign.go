package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	signatureName = sumsName + ".sig"
	publicKeyName = "bloomery-release.pub"
)

// readKey reads an Ed25519 private key: PEM, as openssl genpkey -algorithm ed25519 writes it.
func readKey(name string) (ed25519.PrivateKey, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s is not in PEM form", name)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is not an Ed25519 key", name)
	}
	return key, nil
}

// sign signs the checksums, in the form that openssl verifies, and puts the public key beside
// them. Who verifies a release takes the key from elsewhere.
func (r *release) sign() error {
	if r.key == nil {
		return nil
	}
	sums, err := os.ReadFile(filepath.Join(r.out, sumsName))
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(r.key.Public())
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(r.out, signatureName), ed25519.Sign(r.key, sums), 0o644),
		os.WriteFile(filepath.Join(r.out, publicKeyName), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644),
	)
}
