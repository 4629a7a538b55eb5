// The command version.

package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is the release that this tree is or becomes: manuals, packages, documents and
// the changelog have the same.
const release = "0.1.0"

// version and commit are set by the linker in releases.
var version, commit = "", ""

// build is what is known of this binary.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// thisBuild asks the linker's value first and then what Go recorded.
func thisBuild() build {
	b := build{Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && b.Commit == "" {
				b.Commit = s.Value
			}
		}
		if b.Version == "" {
			b.Version = recorded(info.Main.Version)
		}
	}
	if b.Version == "" {
		b.Version = recorded("")
	}
	return b
}

// recorded returns the version of a build from what Go recorded: that of a tag, or a
// pre-release of the release to come. Go calls a commit without tags before it v0.0.0.
func recorded(version string) string {
	commit, untagged := strings.CutPrefix(version, "v0.0.0-")
	switch {
	case untagged:
		return "v" + release + "-dev." + commit
	case version == "" || version == "(devel)":
		return "v" + release + "-dev"
	}
	return version
}

// String is the line that version prints.
func (b build) String() string {
	return fmt.Sprintf("bloomery %s %s %s/%s", b.Version, b.Go, b.OS, b.Arch)
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "version prints the version of bloomery, of Go, and the system it was built for.",
		Example: "  bloomery version\n  bloomery version --json",
		Args:    noArguments,
	}
	newShell(cmd, func(_ context.Context, s *shell, _ []string) error {
		b := thisBuild()
		if s.asJSON {
			return s.print(b)
		}
		_, err := fmt.Fprintln(s.out, b)
		return err
	})
	return cmd
}
