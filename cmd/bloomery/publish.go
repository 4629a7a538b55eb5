// The command publish: filters in a folder that a web server serves.

package main

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/follow"
)

// publishOptions are the flags of publish.
type publishOptions struct {
	name    string
	signKey string

	unsigned bool
	patches  int
}

func newPublish() *cobra.Command {
	o := &publishOptions{}
	cmd := &cobra.Command{
		Use:   "publish [--sign-key FILE] DIR FILTER...",
		Short: "Publish filters in a folder that any web server can serve",
		Long: `publish writes filters to the folder DIR so that bloomery follow, and programs
in Go, JavaScript and Python, can keep copies of them: each filter in the
transport form, patches between its last versions, and an index, index.json,
which is written last. If it is interrupted, the old state stays published. A
filter that is published already is not written again.

A filter is published under the name of its file without the ending, or under
--name. Serve DIR with any web server, or copy it to a bucket with index.json
last. index.json should not be cached for longer than copies may be old; all
other files never change.

--sign-key signs each version with an Ed25519 key, so that followers with the
public key take nothing from anybody else. openssl makes both:

  openssl genpkey -algorithm ed25519 -out sign.pem
  openssl pkey -in sign.pem -pubout -out verify.pem
  bloomery publish --sign-key sign.pem site words.bf`,
		Example: `  bloomery publish site words.bf
  bloomery publish --name known --json site words.bf`,
		Args: between(2, -1, "a folder and the filters to publish"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0], args[1:]) }).bindSummary(cmd)
	f := cmd.Flags()
	f.StringVar(&o.name, "name", "", "`NAME` to publish a filter under; for one FILTER only")
	f.StringVar(&o.signKey, "sign-key", "", "`FILE` of the private key to sign with: Ed25519, PEM")
	f.BoolVar(&o.unsigned, "unsigned", false, "publish without a signature what was signed before")
	intVar(f, &o.patches, "patches", "", 100, "keep patches from the last `N` versions, as far as they are shorter than the filter; 0 for none")
	return cmd
}

// publishedJSON is what publish writes with --json, a line for each filter.
type publishedJSON struct {
	Name    string `json:"name"`
	Version uint64 `json:"version"`
	Changed bool   `json:"changed"`
	Bytes   uint64 `json:"bytes"`
	Patch   uint64 `json:"patch"`
}

func (o *publishOptions) run(ctx context.Context, s *shell, dir string, filters []string) error {
	if o.name != "" && len(filters) > 1 {
		return errors.New("--name is for one filter: publish them one by one")
	}
	if o.patches < 0 {
		return errors.New("--patches: want 0 or more")
	}
	c := follow.PublishConfig{Patches: o.patches, Unsigned: o.unsigned}
	if o.patches == 0 {
		c.Patches = -1
	}
	var err error
	if c.Key, err = signKey(o.signKey); err != nil {
		return err
	}
	names := make([]string, len(filters))
	for i, f := range filters {
		names[i] = o.nameOf(f)
	}
	for i := range names {
		for j := range i {
			if names[i] == names[j] {
				return hinted{fmt.Errorf("%s and %s would both be published as %s", filters[j], filters[i], names[i]), "publish one of them alone, with --name"}
			}
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("%s: %w", dir, cause(err))
	}
	unlock, err := s.lockFile(ctx, filepath.Join(dir, "index.json"))
	if err != nil {
		return err
	}
	defer unlock()
	for i, f := range filters {
		if err := publishOne(ctx, s, dir, names[i], f, c); err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the name that a file is published under.
func (o *publishOptions) nameOf(file string) string {
	if o.name != "" {
		return o.name
	}
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func publishOne(ctx context.Context, s *shell, dir, name, file string, c follow.PublishConfig) error {
	path, err := s.located(ctx, file)
	if err != nil {
		return err
	}
	p, err := abandon(ctx, func() (follow.Published, error) {
		data, _, err := readPlain(path)
		if err != nil {
			return follow.Published{}, err
		}
		p, err := follow.Publish(dir, name, data, c)
		if errors.Is(err, follow.ErrUntrusted) {
			return p, hinted{unpackaged(err), "give the key with --sign-key, or --unsigned: followers with --verify-key then stay at the old version"}
		}
		return p, about(file, unpackaged(err))
	})
	if err != nil {
		return err
	}
	if s.asJSON {
		return s.print(publishedJSON{name, p.Version, p.Changed, p.Whole, p.Patch})
	}
	signed := ""
	if p.Signed {
		signed = ", signed"
	}
	switch {
	case p.Mended:
		s.say("%s: version %d is published again%s: its file was damaged", name, p.Version, signed)
	case !p.Changed && p.Signed:
		s.say("%s: version %d was published already; it is signed now", name, p.Version)
	case !p.Changed:
		s.say("%s: version %d is published already", name, p.Version)
	case p.Patch > 0:
		s.say("%s: version %d, %s, patch %s%s", name, p.Version, bytesText(p.Whole), bytesText(p.Patch), signed)
	default:
		s.say("%s: version %d, %s%s", name, p.Version, bytesText(p.Whole), signed)
	}
	return nil
}

// unpackaged is an error of the package follow without its name, which is that of a command.
func unpackaged(err error) error {
	if err == nil {
		return nil
	}
	return worded{err, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "follow: "), "publish: ")}
}

// signKey reads a private key, nil without a file.
func signKey(name string) (ed25519.PrivateKey, error) {
	if name == "" {
		return nil, nil
	}
	block, err := pemIn("sign-key", name)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(block)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, hinted{fmt.Errorf("--sign-key: %s has no private Ed25519 key", name), "make one with: openssl genpkey -algorithm ed25519 -out sign.pem"}
	}
	return private, nil
}

// verifyKey reads a public key, nil without a file.
func verifyKey(name string) (ed25519.PublicKey, error) {
	if name == "" {
		return nil, nil
	}
	block, err := pemIn("verify-key", name)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(block)
	public, ok := key.(ed25519.PublicKey)
	if err != nil || !ok {
		return nil, hinted{fmt.Errorf("--verify-key: %s has no public Ed25519 key", name), "make it from the private one with: openssl pkey -in sign.pem -pubout -out verify.pem"}
	}
	return public, nil
}

// pemIn returns what the first block of a PEM file holds.
func pemIn(flag, name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("--%s: %s is no PEM file", flag, name)
	}
	return block.Bytes, nil
}
