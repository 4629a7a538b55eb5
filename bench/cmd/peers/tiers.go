package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/bloomery/bloomery/internal/kernel"
)

// tier is an instruction set, by the name that the kernels give it.
type tier string

const (
	avx512 tier = "avx512"
	avx2   tier = "avx2"
	goOnly tier = "go"
)

// String returns the name for readers.
func (t tier) String() string {
	switch t {
	case avx512:
		return "AVX-512"
	case avx2:
		return "AVX2"
	case goOnly:
		return "Go"
	}
	return string(t)
}

// godebug holds the settings that take instruction sets away, in order.
var godebug = []string{"", "cpu.avx512f=off", "cpu.avx512f=off,cpu.avx2=off"}

// tierRun is what was measured with one instruction set.
type tierRun struct {
	Tier    tier
	Samples []sample
}

// everyTier runs this program for each instruction set that there is.
func everyTier(ctx context.Context, o options, args []string) ([]tierRun, error) {
	var runs []tierRun
	seen := map[tier]bool{}
	for _, setting := range godebug {
		t, err := tierUnder(ctx, setting)
		if err != nil {
			return nil, err
		}
		if seen[t] {
			continue
		}
		seen[t] = true
		samples, err := everySection(ctx, setting, o, args)
		if err != nil {
			return nil, err
		}
		runs = append(runs, tierRun{t, samples})
	}
	return runs, nil
}

// everySection runs this program for each section and size. Each gets a
// process of its own: memory that a Go program used before comes back without
// huge pages, and the second size would not be measured like the first.
func everySection(ctx context.Context, setting string, o options, args []string) ([]sample, error) {
	var all []sample
	for _, s := range sections {
		for _, mib := range o.sizes {
			if !o.only.MatchString(s.name) || !s.fits(mib) {
				continue
			}
			one := slices.Concat(args, []string{"-only", "^" + s.name + "$", "-sizes", strconv.Itoa(mib)})
			var r tierRun
			if err := again(ctx, setting, one, &r); err != nil {
				return nil, err
			}
			all = append(all, r.Samples...)
		}
	}
	return all, nil
}

// tierUnder asks which instruction set a setting of GODEBUG leaves.
func tierUnder(ctx context.Context, setting string) (tier, error) {
	var r tierRun
	err := again(ctx, setting, []string{"-only", "^$"}, &r)
	return r.Tier, err
}

// again runs this program with a setting of GODEBUG and reads its result.
func again(ctx context.Context, setting string, args []string, r *tierRun) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), childVariable+"=1", "GODEBUG="+setting)
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run with GODEBUG=%q: %w", setting, err)
	}
	return json.Unmarshal(stdout.Bytes(), r)
}

// measure times the sections that o selects in this process.
func measure(o options) tierRun {
	r := tierRun{Tier: tier(kernel.Tier())}
	for _, s := range sections {
		if !o.only.MatchString(s.name) {
			continue
		}
		for _, mib := range o.sizes {
			if s.fits(mib) {
				progress("%v: %s, %d MiB", r.Tier, s.name, mib)
				r.Samples = append(r.Samples, timed(o, s, mib)...)
			}
		}
	}
	return r
}
