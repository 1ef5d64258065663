package command

import (
	"context"
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
	return signal.NotifyContext(context.Background(), EndingSignals()...)
}
