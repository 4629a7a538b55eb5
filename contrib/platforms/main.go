// Command platforms type-checks the module, its tests and all that they import for
// other systems, without compiling anything: a constant that overflows an int of 32
// bits and a symbol that another system does not have are found in seconds.
//
//	platforms linux/386 windows/amd64
//	platforms -C bench linux/amd64
//
// -C is the folder of the module.
// It prints what is wrong and exits with 1, or prints a line for each platform.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

func main() {
	dir := flag.String("C", ".", "folder of the module")
	flag.Parse()
	if err := run(*dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run checks as many platforms at a time as there are processors.
func run(dir string, platforms []string) error {
	if len(platforms) == 0 {
		return errors.New("platforms: usage: platforms [-C folder] GOOS/GOARCH [GOOS/GOARCH]")
	}
	debug.SetGCPercent(400) // most of what is made stays until the end
	files := newSources()
	errs := make([]error, len(platforms))
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i, platform := range platforms {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			start := time.Now()
			var packages int
			if packages, errs[i] = check(files, dir, platform); errs[i] == nil {
				fmt.Printf("%-15s %d packages, %.1f s\n", platform, packages, time.Since(start).Seconds())
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// split returns the two halves of a platform, as in linux/386.
func split(platform string) (system, arch string, err error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok || system == "" || arch == "" {
		return "", "", fmt.Errorf("platforms: %q: want GOOS/GOARCH, as in linux/386", platform)
	}
	return system, arch, nil
}
