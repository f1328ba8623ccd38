// Command coredns is CoreDNS with only the plugins that a closed test cluster needs: it answers for cluster.local
// and forwards nothing, because nothing in this cluster may leave the machine.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

// The order of this list is the order in which plugins handle a query (as in CoreDNS's own plugin.cfg).
func init() {
	dnsserver.Directives = []string{"bind", "health", "ready", "errors", "cache", "kubernetes"}
}

func main() {
	coremain.Run()
}
