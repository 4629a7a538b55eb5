// Package filter is the FILTER commands: filters of every kind of package codec,
// which RedisBloom does not have.
package filter

import (
	"github.com/bloomery/bloomery/server/internal/command/filter/advise"
	"github.com/bloomery/bloomery/server/internal/command/filter/rebuild"
	"github.com/bloomery/bloomery/server/internal/command/filter/resize"
	"github.com/bloomery/bloomery/server/internal/command/filter/where"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// Commands returns the FILTER commands.
func Commands() []engine.Command {
	return []engine.Command{
		add, addHash, card, clearCmd, count, create, del, density, dump, falseCmd, resize.Fold, followersCmd, get, gone, resize.Grow, has, hasHash, healthCmd, info, intersect, advise.Kinds, layers, list, load, newsCmd, advise.Plan, read, rebuild.Command, repair, set, similar, union, where.Command,
	}
}
