package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestEveryFlagCompletes asks that every flag that takes a value has a completion: words,
// files or folders.
func TestEveryFlagCompletes(t *testing.T) {
	eachCommand(func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, _ := pflag.UnquoteUsage(f)
			if value != "" && !completes(c, f) {
				t.Errorf("%s --%s %s has no completion", c.CommandPath(), f.Name, value)
			}
		})
	})
	for args, want := range map[string]string{
		"build -p ":                    "1%\n0.1%\n0.01%\n1in1000\n:4\n",
		"build --key-file ":            ":0\n",
		"dedupe --temp ":               ":16\n",
		"dedupe --window ":             "10s\n1m\n1h\n24h\n:4\n",
		"plan --needs growth,deletes,": "growth,deletes,counts\ngrowth,deletes,expiry\ngrowth,deletes,immutable\ngrowth,deletes,writers\ngrowth,deletes,parquet\ngrowth,deletes,adversary\n:6\n",
		"plan ":                        "n=\np=\nm=\nk=\nbits=\n:6\n",
		"serve --fsync ":               "always\neverysec\nno\n:4\n",
		"serve --tls-cert ":            ":0\n",
		"serve --config ":              "toml\n:8\n",
		"serve --dir ":                 ":16\n",
		"fold --by ":                   "2\n4\n8\n:4\n",
		"check words.bf ":              ":4\n",
		"check ":                       ":0\n",
		"load ":                        ":4\n",
		"man --dir ":                   ":16\n",
		"inspect --color ":             "auto\nalways\nnever\n:4\n",
		"load --addr ":                 "127.0.0.1:6379\nunix:/run/bloomery.sock\n:4\n",
	} {
		words := append([]string{"__complete"}, strings.Split(args, " ")...)
		if code, out, errOut := call(t, words...); code != 0 || out != want {
			t.Errorf("%q completes to %q, want %q (%d, %s)", args, out, want, code, errOut)
		}
	}
}
