package server_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
)

// TestDefaultsByField sets one parameter of new filters: all others are RedisBloom's.
func TestDefaultsByField(t *testing.T) {
	for name, tt := range map[string]struct {
		defaults server.Defaults
		want     string // beside RedisBloom's
	}{
		"none":           {server.Defaults{}, ""},
		"error":          {server.Defaults{BloomError: 0.001}, "bf-error-rate 0.001"},
		"capacity":       {server.Defaults{BloomCapacity: 7}, "bf-initial-size 7"},
		"expansion":      {server.Defaults{BloomExpansion: 3}, "bf-expansion-factor 3"},
		"no growth":      {server.Defaults{BloomExpansion: 3, BloomNonScaling: true}, "bf-expansion-factor 0"},
		"bucket":         {server.Defaults{CuckooBucket: 4}, "cf-bucket-size 4"},
		"CF":             {server.Defaults{CuckooCapacity: 64}, "cf-initial-size 64"},
		"kicks":          {server.Defaults{CuckooKicks: 5}, "cf-max-iterations 5"},
		"CF expansion":   {server.Defaults{CuckooExpansion: 9}, "cf-expansion-factor 9"},
		"CF, no growth":  {server.Defaults{CuckooNonScaling: true}, "cf-expansion-factor 0"},
		"sub-filters":    {server.Defaults{CuckooMost: 1}, "cf-max-expansions 1"},
		"as they are":    {server.Defaults{BloomError: 0.01, CuckooExpansion: 1}, ""},
		"a large rate":   {server.Defaults{BloomError: 0.5}, "bf-error-rate 0.25"},
		"one of another": {server.Defaults{CuckooBucket: 255, CuckooCapacity: 510}, "cf-bucket-size 255, cf-initial-size 510"},
	} {
		c := dial(t, start(t, server.Config{Addr: []string{"127.0.0.1:0"}, Defaults: tt.defaults}))
		var differ []string
		for _, usual := range []string{
			"bf-error-rate 0.01", "bf-initial-size 100", "bf-expansion-factor 2", "cf-bucket-size 2", "cf-initial-size 1024",
			"cf-max-iterations 20", "cf-expansion-factor 1", "cf-max-expansions 32",
		} {
			setting, value, _ := strings.Cut(usual, " ")
			if got := strings.Split(c.do("CONFIG", "GET", setting), "\r\n")[4]; got != value {
				differ = append(differ, setting+" "+got)
			}
		}
		if got := strings.Join(differ, ", "); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	for _, bad := range []server.Defaults{
		{BloomError: -1}, {BloomError: 1}, {BloomCapacity: -1}, {BloomExpansion: -1}, {BloomExpansion: 32769}, {CuckooBucket: 256},
		{CuckooBucket: 4, CuckooCapacity: 7}, {CuckooKicks: -1}, {CuckooExpansion: -1}, {CuckooMost: 65537},
	} {
		if err := (server.Config{Defaults: bad}).Check(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestExpansionSettings reads and writes the two settings whose 0 is a value of its own.
func TestExpansionSettings(t *testing.T) {
	for _, s := range server.Settings() {
		if !strings.HasSuffix(s.Name, "-expansion-factor") {
			continue
		}
		var c server.Config
		if got := s.Get(&c); got != s.Default {
			t.Errorf("%s that is not set = %s, want %s", s.Name, got, s.Default)
		}
		for _, value := range []string{"0", "7", s.Default} {
			if err := s.Set(&c, value); err != nil || s.Get(&c) != value {
				t.Errorf("%s set to %s = %s, %v", s.Name, value, s.Get(&c), err)
			}
		}
		if err := s.Set(&c, "-1"); err == nil || s.Get(&c) != s.Default {
			t.Errorf("%s set to -1 = %s, %v", s.Name, s.Get(&c), err)
		}
	}
}

// TestWords reads the settings that take few words: every word comes back, and others are
// refused.
func TestWords(t *testing.T) {
	var seen []string
	for _, s := range server.Settings() {
		if s.Values == nil {
			continue
		}
		seen = append(seen, fmt.Sprint(s.Name, s.Values))
		c := server.Config{Cluster: &server.Cluster{}}
		if got := s.Get(&c); got != s.Default {
			t.Errorf("%s that is not set = %s, want %s", s.Name, got, s.Default)
		}
		for _, value := range s.Values {
			if err := s.Set(&c, value); err != nil || s.Get(&c) != value {
				t.Errorf("%s set to %s = %s, %v", s.Name, value, s.Get(&c), err)
			}
		}
		last := s.Get(&c)
		for _, bad := range []string{"", "maybe", strings.ToUpper(last), last + " "} {
			if err := s.Set(&c, bad); err == nil || !strings.Contains(err.Error(), "want "+s.Values[0]) || s.Get(&c) != last {
				t.Errorf("%s set to %q: %v", s.Name, bad, err)
			}
		}
	}
	if got := strings.Join(seen, " "); got != "tls-auth-clients[no optional yes] fsync[always everysec no] cluster-protocol[on off]" {
		t.Errorf("settings of words: %s", got)
	}
	for mode, word := range map[server.Fsync]string{server.Always: "always", server.EverySecond: "everysec", server.Never: "no"} {
		if got, err := server.ParseFsync(word); got != mode || err != nil || mode.String() != word {
			t.Errorf("ParseFsync(%q) = %v, %v", word, got, err)
		}
	}
	if _, err := server.ParseFsync("maybe"); !errors.Is(err, bloomery.ErrParameter) || err.Error() != `server: fsync "maybe": want always, everysec or no` {
		t.Errorf("ParseFsync: %v", err)
	}
	if got := server.Fsync(3).String() + " " + server.Kind(7).String(); got != "Fsync(3) Kind(7)" {
		t.Errorf("values that are none: %s", got)
	}
}
