// The settings of a server as flags, environment variables and a file.

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery/server"
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
// setting. A key that is not a flag is an error: it is a typing mistake.
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
func printSettings(w io.Writer, flags *pflag.FlagSet, skip ...string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(skip, f.Name) {
			return
		}
		value := f.Value.String()
		_, hidden := f.Annotations[secret]
		switch {
		case hidden && value != "":
			_, err := fmt.Fprintf(w, "# %s is set\n", f.Name)
			errs = append(errs, err)
			return
		case slices.Contains([]string{"bool", "int", "float"}, f.Value.Type()):
		default:
			value = fmt.Sprintf("%q", value)
		}
		_, err := fmt.Fprintf(w, "# %s\n%s = %s\n", usageText(f), f.Name, value)
		errs = append(errs, err)
	})
	return errors.Join(errs...)
}

// settingFlag makes the flag of a setting, which sets it in c.
func settingFlag(f *pflag.FlagSet, c *server.Config, s server.Setting) {
	if err := s.Set(c, s.Default); err != nil {
		panic(err) // a default that is not a value
	}
	flag := f.VarPF(&settingValue{s, c}, s.Name, "", settingUsage(s))
	if s.Name == "max-memory" { // it depends on the machine
		flag.DefValue = "three quarters of the memory"
	}
	if s.Kind == server.KindBool {
		flag.NoOptDefVal = "true"
	}
	if s.Secret {
		flag.Annotations = map[string][]string{secret: nil}
	}
}

// settingUsage is the help of a setting, in which files and folders are marked as
// the value.
func settingUsage(s server.Setting) string {
	if rest, ok := strings.CutPrefix(s.Help, "file "); ok && s.File {
		return "`FILE` " + rest
	}
	if rest, ok := strings.CutPrefix(s.Help, "folder "); ok {
		return "`FOLDER` " + rest
	}
	return s.Help
}

// secret marks flags whose values are not shown.
const secret = "secret"

// settingValue is a setting of a configuration as a flag.
type settingValue struct {
	setting server.Setting
	config  *server.Config
}

var _ pflag.Value = (*settingValue)(nil)

// Set implements pflag.Value.
func (v *settingValue) Set(s string) error { return v.setting.Set(v.config, s) }

// String implements pflag.Value.
func (v *settingValue) String() string {
	if v.config == nil {
		return ""
	}
	return v.setting.Get(v.config)
}

// Type implements pflag.Value.
func (v *settingValue) Type() string { return v.setting.Kind.String() }
