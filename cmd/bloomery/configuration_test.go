// A test that docs/configuration.md lists all settings.

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery/server"
)

// TestConfiguration holds the table of docs/configuration.md to the settings.
func TestConfiguration(t *testing.T) {
	var b strings.Builder
	b.WriteString("| setting | environment | type | default | CONFIG | meaning |\n|---|---|---|---|---|---|\n")
	s := newServeSettings()
	redis := map[string]server.Setting{}
	for _, setting := range server.Settings() {
		redis[setting.Name] = setting
	}
	s.flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(notSettings, f.Name) {
			return
		}
		value := strings.TrimSuffix(strings.TrimPrefix(defaultText(f), " (default "), ")")
		config := "–"
		if setting, ok := redis[f.Name]; ok {
			config = "`" + setting.Redis + "`, GET"
			if setting.Live {
				config = "`" + setting.Redis + "`, GET and SET"
			}
		}
		kind := f.Value.Type()
		if redis[f.Name].File {
			kind = "file"
		}
		meaning := f.Usage
		if setting, ok := redis[f.Name]; ok {
			meaning = setting.Help
		}
		if redis[f.Name].Secret {
			meaning += ". Its value is never shown"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s | %s |\n", f.Name, envName(f.Name), kind, value, config, strings.ReplaceAll(meaning, "|", "\\|"))
	})
	generated(t, "../../docs/configuration.md", "settings", b.String())
}
