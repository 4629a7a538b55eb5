// Package fields holds the Configs of all families to one rule: a field that a
// constructor does not use must not be set.
package fields

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/bloomery/bloomery"
)

// Only returns nil if no field of config, a struct, is set but those in used.
// The error wraps ErrParameter and names the first such field and the
// constructor.
func Only(config any, constructor string, used ...string) error {
	v := reflect.ValueOf(config)
	for field, value := range v.Fields() {
		if field.Name != "_" && !value.IsZero() && !slices.Contains(used, field.Name) {
			return fmt.Errorf("%w: %s is set, which %s does not use", bloomery.ErrParameter, field.Name, constructor)
		}
	}
	return nil
}
