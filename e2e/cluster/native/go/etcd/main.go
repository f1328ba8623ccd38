// Command etcd is the pinned etcd server, built from its module because no image or package of this version is assumed.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
