package server

// Page: the page without a server.

import (
	"net/http"

	"github.com/bloomery/bloomery/server/internal/web"
)

// Page returns the page without a server: the calculator, which sizes filters, and the
// lessons on how they work. What shows a server says that there is none; that is the
// page of [Server.Handler].
func Page() http.Handler { return web.New(web.Config{}) }
