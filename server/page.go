package server

// Page: the page without a server.

import (
	"net/http"

	"github.com/bloomery/bloomery/server/internal/web"
)

// Page returns the page without a server: the calculator, which sizes filters, and the
// lessons on how they work. Its tabs that show a server say that there is none;
// [Server.Handler] has the whole page.
func Page() http.Handler { return web.New(web.Config{}) }
