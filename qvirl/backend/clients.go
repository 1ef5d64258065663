package backend

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute"
)

// clientPool holds the clients of one XLA CPU plugin. A client executes one program at a time, whoever calls it, so
// programs that shall run side by side need a client each.
type clientPool struct {
	config string
	limit  int

	mutex   sync.Mutex
	clients []compute.Backend
	users   []int // of each client, at present
}

// Client returns Choice.Client of the backend of a name, see Get.
func Client(name string) (on compute.Backend, release func(), err error) {
	c, err := Get(name)
	if err != nil {
		return nil, nil, err
	}
	return c.Client()
}

// Client returns a backend for a program that shall run beside others, and what gives it back. It is c.Backend unless
// that is an XLA client for the CPU: then it is the client with the fewest users, of at most as many as there are
// processors. Callers that keep compiled programs keep them by the backend that they were compiled for.
func (c Choice) Client() (on compute.Backend, release func(), err error) {
	l := c.clients
	if l == nil {
		return c.Backend, func() {}, nil
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	least := slices.Min(l.users)
	if least > 0 && len(l.clients) < l.limit {
		b, err := newBackend(l.config)
		if err != nil {
			return nil, nil, err
		}
		l.clients, l.users, least = append(l.clients, b), append(l.users, 0), 0
	}
	i := slices.Index(l.users, least)
	l.users[i]++
	return l.clients[i], func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.users[i]--
	}, nil
}

// newClients returns the clients whose first client is b, or nil where one client serves all.
func newClients(b compute.Backend, config string) *clientPool {
	if !onXLACPU(config) {
		return nil
	}
	return &clientPool{config: config, limit: runtime.GOMAXPROCS(0), clients: []compute.Backend{b}, users: []int{0}}
}

// onXLACPU tells whether a backend of the configuration is XLA on the CPU.
func onXLACPU(config string) bool {
	return strings.HasPrefix(config, "xla") && !strings.Contains(config, "cuda")
}
