package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"
)

// envPrefix begins the name of every environment variable: --max-memory is
// BLOOMERY_MAX_MEMORY.
const envPrefix = "BLOOMERY_"

// envName returns the environment variable of a flag.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// loadSettings fills flags that were not given: from the environment, then from
// a TOML file whose keys are the names of the flags. Flags in skip have no
// setting. A key that is no flag is an error: it is a typing mistake.
func loadSettings(flags *pflag.FlagSet, file string, lookup func(string) (string, bool), skip ...string) error {
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if given[f.Name] || slices.Contains(skip, f.Name) {
			return
		}
		if v, ok := lookup(envName(f.Name)); ok {
			given[f.Name] = true
			if err := flags.Set(f.Name, v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", envName(f.Name), err))
			}
		}
	})
	if file != "" {
		errs = append(errs, loadFile(flags, file, given, skip))
	}
	return errors.Join(errs...)
}

func loadFile(flags *pflag.FlagSet, file string, given map[string]bool, skip []string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var values map[string]any
	if err := toml.Unmarshal(data, &values); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, name := range sortedKeys(values) {
		f := flags.Lookup(name)
		if f == nil || slices.Contains(skip, name) {
			return fmt.Errorf("%s: unknown setting %q", file, name)
		}
		if given[name] {
			continue
		}
		if err := flags.Set(name, fmt.Sprint(values[name])); err != nil {
			return fmt.Errorf("%s: %s: %w", file, name, err)
		}
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// printSettings writes all settings in force as a TOML file that gives the same
// ones again. Secrets are not shown.
func printSettings(w io.Writer, flags *pflag.FlagSet, secret []string, skip ...string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(skip, f.Name) {
			return
		}
		value := f.Value.String()
		switch {
		case slices.Contains(secret, f.Name) && value != "":
			_, err := fmt.Fprintf(w, "# %s is set\n", f.Name)
			errs = append(errs, err)
			return
		case slices.Contains([]string{"bool", "int", "int64", "float64"}, f.Value.Type()):
		default:
			value = fmt.Sprintf("%q", value)
		}
		_, err := fmt.Fprintf(w, "# %s\n%s = %s\n", f.Usage, f.Name, value)
		errs = append(errs, err)
	})
	return errors.Join(errs...)
}

// bytesValue is a flag for an amount of memory: 512MiB, 1GB, 1000000.
type bytesValue struct {
	n     int64
	parse func(string) (int64, bool)
}

var _ pflag.Value = (*bytesValue)(nil)

// Set implements pflag.Value.
func (v *bytesValue) Set(s string) error {
	n, ok := v.parse(s)
	if !ok {
		return fmt.Errorf("%q is no amount of memory (512MiB, 2GB, 1000000)", s)
	}
	v.n = n
	return nil
}

// String implements pflag.Value.
func (v *bytesValue) String() string {
	const unit = 1024
	n, power := v.n, 0
	for n > 0 && n%unit == 0 && power < 4 {
		n /= unit
		power++
	}
	return strconv.FormatInt(n, 10) + []string{"", "KiB", "MiB", "GiB", "TiB"}[power]
}

// Type implements pflag.Value.
func (v *bytesValue) Type() string { return "bytes" }
