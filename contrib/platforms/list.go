package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// listed is a package as go list describes it.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	SFiles     []string
	ImportMap  map[string]string // of imports that stand for others: vendored ones, and packages with their tests
	ForTest    string
	Module     *struct {
		Main      bool
		GoVersion string
	}
}

// own reports whether the package is of the module that is checked.
func (p *listed) own() bool { return p.Module != nil && p.Module.Main }

// list returns the packages of the module in dir, their tests and all that they
// import, for one platform: a package comes after those that it imports. With the profile of the program, many
// would be listed twice.
func list(dir, system, arch string) ([]listed, error) {
	cmd := exec.Command("go", "list", "-pgo=off", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,SFiles,ImportMap,ForTest,Module", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("platforms: go list: %w\n%s", err, stderr.Bytes())
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("platforms: go list: %w", err)
		}
		// The main package of tests is made by the go command.
		if !strings.HasSuffix(p.ImportPath, ".test") {
			packages = append(packages, p)
		}
	}
}
