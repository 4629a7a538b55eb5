package server

// The parameters of filters that are created without any.

import (
	"fmt"

	"github.com/bloomery/bloomery/server/internal/session"
)

// Defaults are the parameters of filters that are created without any, by commands
// of RedisBloom. The zero value of a field means RedisBloom's default.
type Defaults struct {
	// BloomError is the false positive rate of a BF, more than 0 and less than 1; more
	// than 0.25 counts as 0.25. The default is 0.01.
	BloomError float64
	// BloomCapacity is the number of items of its first layer, 1 to 2^30. The
	// default is 100.
	BloomCapacity int64
	// BloomExpansion is the factor from layer to layer, up to 32768. The default is 2.
	BloomExpansion int64
	// BloomNonScaling makes a BF that never grows: BloomExpansion does not count.
	BloomNonScaling bool
	// CuckooBucket is the number of slots of a bucket of a CF, 1 to 255. The default
	// is 2.
	CuckooBucket int64
	// CuckooCapacity is the number of items of its first sub-filter, from twice
	// CuckooBucket to 2^30. The default is 1024.
	CuckooCapacity int64
	// CuckooKicks is how often an insert moves an item before the filter grows, 1 to
	// 65535. The default is 20.
	CuckooKicks int64
	// CuckooExpansion is the factor from sub-filter to sub-filter, up to 32768. The
	// default is 1.
	CuckooExpansion int64
	// CuckooNonScaling makes a CF that never grows: CuckooExpansion does not count.
	CuckooNonScaling bool
	// CuckooMost is the number of sub-filters with which a CF takes no more items, 1
	// to 65536. The default is 32.
	CuckooMost int64
}

// inUse returns d as commands work with it: every field is set, and an expansion of 0
// means that a filter does not grow.
func (d Defaults) inUse() session.Defaults {
	s, usual := session.Defaults{
		BloomError: d.BloomError, BloomCapacity: d.BloomCapacity, BloomExpansion: d.BloomExpansion,
		CuckooBucket: d.CuckooBucket, CuckooCapacity: d.CuckooCapacity, CuckooKicks: d.CuckooKicks,
		CuckooExpansion: d.CuckooExpansion, CuckooMost: d.CuckooMost,
	}, session.RedisBloomDefaults()
	setDefault(&s.BloomError, usual.BloomError)
	setDefault(&s.BloomCapacity, usual.BloomCapacity)
	setDefault(&s.BloomExpansion, usual.BloomExpansion)
	setDefault(&s.CuckooBucket, usual.CuckooBucket)
	setDefault(&s.CuckooCapacity, usual.CuckooCapacity)
	setDefault(&s.CuckooKicks, usual.CuckooKicks)
	setDefault(&s.CuckooExpansion, usual.CuckooExpansion)
	setDefault(&s.CuckooMost, usual.CuckooMost)
	if d.BloomNonScaling {
		s.BloomExpansion = 0
	}
	if d.CuckooNonScaling {
		s.CuckooExpansion = 0
	}
	return s
}

// defaultsOf is the other way round.
func defaultsOf(s session.Defaults) Defaults {
	return Defaults{
		BloomError: s.BloomError, BloomCapacity: s.BloomCapacity, BloomExpansion: s.BloomExpansion, BloomNonScaling: s.BloomExpansion == 0,
		CuckooBucket: s.CuckooBucket, CuckooCapacity: s.CuckooCapacity, CuckooKicks: s.CuckooKicks,
		CuckooExpansion: s.CuckooExpansion, CuckooNonScaling: s.CuckooExpansion == 0, CuckooMost: s.CuckooMost,
	}
}

// completed returns d with the defaults of what is not set, or what is wrong with it.
func (d Defaults) completed() (Defaults, error) {
	s := d.inUse()
	if err := s.Check(); err != nil {
		return d, fmt.Errorf("server: %w", err)
	}
	return defaultsOf(s), nil
}
