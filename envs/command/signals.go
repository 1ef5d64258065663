package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// EndingSignals are the signals that ask a program to end: Ctrl-C, that of a batch system or a container, and that of a
// closed terminal, unless the program was started to outlive it, as nohup does.
func EndingSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// Signals returns a context that EndingSignals end. A program that `go run` started is asked to end when `go run` is
// killed, too, which passes no signal on.
func Signals() (context.Context, context.CancelFunc) {
	endWithGoRun()
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, EndingSignals()...)
	go func() {
		select {
		case s := <-signals:
			cancel(received{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil); signal.Stop(signals) }
}

// received is the cause of the end of a context that a signal ends.
type received struct{ signal os.Signal }

func (r received) Error() string { return r.signal.String() + " signal received" }

func (received) Unwrap() error { return context.Canceled }

// StatusInterrupted returns the exit status of a command whose context has ended, as shells have it: 128 and the number
// of the signal that ended it, or that of Ctrl-C.
func StatusInterrupted(ctx context.Context) int {
	number := syscall.SIGINT
	if r, ok := errors.AsType[received](context.Cause(ctx)); ok {
		if s, ok := r.signal.(syscall.Signal); ok {
			number = s
		}
	}
	return 128 + int(number)
}
