package command_test

import (
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestExpireTimeIsRounded asks for the second of deadlines around half of one.
func TestExpireTimeIsRounded(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		SET k v -> +OK
		PEXPIREAT k 4102444800499 -> :1
		EXPIRETIME k -> :4102444800
		PEXPIREAT k 4102444800500 -> :1
		EXPIRETIME k -> :4102444801`)
}
