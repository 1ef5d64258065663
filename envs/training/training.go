// Package training holds what trainings of all kinds share: the pool of compiled programs, and calls of them that fail
// with an error.
package training

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/support/exceptions"
)

// Program is compiled for one key, such as the shapes of what it computes with.
type Program interface {
	Free() error // gives back what it holds of the device
}

// maxIdle is the number of programs that a pool keeps for later trainings. The one that has been idle longest goes
// first.
const maxIdle = 16

// Pool keeps compiled programs, so that trainings of one kind compile once. The zero value is an empty pool. It is safe
// for concurrent use.
type Pool[K comparable, P Program] struct {
	mutex    sync.Mutex
	idle     []kept[K, P] // longest idle first
	compiled int
	closed   bool
}

type kept[K comparable, P Program] struct {
	key     K
	program P
}

// Acquire returns a program for the key that nobody else uses until it is released: an idle one, or what make returns,
// for which other programs need not wait.
func (p *Pool[K, P]) Acquire(key K, make func() (P, error)) (P, error) {
	p.mutex.Lock()
	for i, k := range slices.Backward(p.idle) {
		if k.key == key {
			defer p.mutex.Unlock()
			p.idle = slices.Delete(p.idle, i, i+1)
			return k.program, nil
		}
	}
	p.compiled++
	p.mutex.Unlock()
	return make()
}

// Release gives a program back.
func (p *Pool[K, P]) Release(key K, program P) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.idle = append(p.idle, kept[K, P]{key, program})
	for len(p.idle) > maxIdle || p.closed && len(p.idle) > 0 {
		_ = p.idle[0].program.Free() // memory that cannot be given back is no reason to lose a training
		p.idle = slices.Delete(p.idle, 0, 1)
	}
}

// Close frees the programs: the idle ones now, the others when they are released.
func (p *Pool[K, P]) Close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.closed = true
	var err error
	for _, k := range p.idle {
		err = errors.Join(err, k.program.Free())
	}
	p.idle = nil
	return err
}

// Closed reports whether the pool was closed.
func (p *Pool[K, P]) Closed() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.closed
}

// Counts returns how many programs the pool has compiled so far, and how many of them are idle.
func (p *Pool[K, P]) Counts() (compiled, idle int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.compiled, len(p.idle)
}

// Guard turns the panics of graph building and execution into errors, which begin with the package's name and say what
// was under way.
func Guard(pkg, what string, f func()) error {
	if err := exceptions.TryCatch[error](f); err != nil {
		return fmt.Errorf("%s: %s: %w", pkg, what, err)
	}
	return nil
}

// Executor is a compiled graph.
type Executor interface {
	Call(args ...any) ([]*tensors.Tensor, error)
}

// Call runs an executor, and turns what goes wrong into an error as Guard does.
func Call(pkg, what string, exec Executor, args ...any) (out []*tensors.Tensor, err error) {
	if failed := Guard(pkg, what, func() { out, err = exec.Call(args...) }); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", pkg, what, err)
	}
	return out, nil
}

// Finalize frees tensors without waiting for the garbage collector, which does not see their size. Those that are nil
// are left out.
func Finalize(all ...*tensors.Tensor) {
	for _, t := range all {
		if t != nil {
			t.MustFinalizeAll()
		}
	}
}
