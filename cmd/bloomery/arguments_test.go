// Tests of how many arguments commands take.

package main

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// arguments are how few and how many arguments commands take; -1 is any number.
var arguments = map[string][2]int{
	"": {0, 0}, "add": {1, -1}, "backup": {1, 1}, "bench": {0, 0}, "build": {0, -1}, "check": {1, -1}, "completion": {0, -1},
	"completion bash": {0, 0}, "completion fish": {0, 0}, "completion powershell": {0, 0}, "completion zsh": {0, 0},
	"config": {0, 0}, "config check": {1, 1}, "config show": {0, 1}, "convert": {1, 1}, "correct": {1, -1}, "count": {1, -1}, "create": {0, 1},
	"dedupe": {0, -1}, "diff": {2, 2}, "doctor": {1, 1}, "fold": {1, 1}, "follow": {1, 2}, "get": {1, -1}, "grow": {1, 1}, "inspect": {1, -1}, "intersect": {2, -1},
	"load": {1, -1}, "man": {0, -1}, "merge": {2, -1}, "noise": {1, 1}, "page": {0, 0}, "page export": {1, 1}, "patch": {2, 2}, "ping": {0, 0},
	"plan": {0, 4}, "publish": {2, -1}, "remove": {1, -1}, "serve": {0, 0}, "top": {0, 0}, "version": {0, 0}, "which": {1, -1},
	"cluster": {0, 0}, "cluster backup": {1, 1}, "cluster join": {0, 0}, "cluster leave": {1, 1}, "cluster replace-log": {2, 2},
	"cluster restore": {1, 1}, "cluster secret": {0, 0}, "cluster status": {0, 0}, "cluster upgrade": {0, 0},
	"cluster copies": {1, 1}, "cluster rebalance": {0, 0}, "cluster pause-moves": {0, 0}, "cluster resume-moves": {0, 0},
}

// houseWords are the texts of this program about arguments, and not those of its parser.
var houseWords = regexp.MustCompile(`^(unknown command "x"|[a-z -]+(: give | takes no arguments: what is "x"\?$))`)

// TestArguments gives every command fewer and more arguments than it takes.
func TestArguments(t *testing.T) {
	left := maps.Clone(arguments)
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			visit(c)
		}
		path := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), "bloomery"))
		if !cmd.Runnable() || cmd.Args == nil {
			return
		}
		want, ok := arguments[path]
		if !ok {
			t.Errorf("%s is not in the table", path)
			return
		}
		delete(left, path)
		args := []string{}
		for n := range 7 {
			good := n >= want[0] && (want[1] < 0 || n <= want[1])
			err := cmd.Args(cmd, args)
			if (err == nil) != good {
				t.Errorf("%s with %d arguments: %v, want %d to %d", path, n, err, want[0], want[1])
			}
			if err != nil && cmd.HasParent() && !strings.Contains(path, "completion") && !houseWords.MatchString(err.Error()) {
				t.Errorf("%s with %d arguments: %v, which is not of this program", path, n, err)
			}
			args = append(args, "x")
		}
	}
	visit(newRoot(nil))
	for path := range left {
		t.Errorf("there is no command %s", path)
	}
}
