//go:build installed && linux

package submit

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// slurmConf is the configuration of a cluster of one node with two processors, which is this machine. The node counts
// as down after five seconds without its daemon, and its tasks are started elsewhere, which is again here, soon.
const slurmConf = `ClusterName=birl
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=root
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
AuthInfo=socket=%[2]s/munge.socket,cred_expire=2
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=5
KillWait=5
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=2
PartitionName=main Nodes=ALL Default=YES State=UP
`

// cluster is a Slurm of the test's own.
type cluster struct {
	t    *testing.T
	dir  string
	conf string
	node *exec.Cmd // slurmd
	// process of slurmctld
	controller int
}

// start starts a Slurm cluster, which ends with the test.
func start(t *testing.T) *cluster {
	t.Helper()
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("NOT RUN: %s is not on PATH (on Debian: apt install slurm-wlm munge)", name)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: Slurm's daemons and a small disk need root")
	}
	dir, err := os.MkdirTemp("", "slurm") // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &cluster{t: t, dir: dir, conf: filepath.Join(dir, "slurm.conf")}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	key := make([]byte, 1024)
	_, _ = rand.Read(key) // never fails
	c.write("munge.key", string(key), 0o400)
	c.write("slurm.conf", fmt.Sprintf(slurmConf, host, dir, freePort(t), freePort(t)), 0o644)
	for _, sub := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLURM_CONF", c.conf)
	t.Cleanup(func() { c.kill(c.strays()) })
	file := func(name string) string { return filepath.Join(dir, name) }
	c.daemon("munged", "--foreground", "--force", "--key-file="+file("munge.key"), "--socket="+file("munge.socket"),
		"--pid-file="+file("munged.pid"), "--seed-file="+file("munged.seed"), "--log-file="+file("munged.own.log"))
	c.until("munged's socket", 10*time.Second, func() bool {
		_,
			err := os.Stat(file("munge.socket"))
		return err == nil
	})
	c.controller = c.daemon("slurmctld", "-D", "-f", c.conf).Process.Pid
	c.startNode()
	c.until("an idle node", 30*time.Second, func() bool {
		return strings.TrimSpace(c.says("sinfo", "-h", "-o",
			"%T")) == "idle"
	})
	return c
}

func (c *cluster) startNode() {
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	c.node = c.daemon("slurmd", "-D", "-f", c.conf, "-N", host)
}

func (c *cluster) write(name, text string, mode os.FileMode) {
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), mode); err != nil {
		c.t.Fatal(err)
	}
}

// daemon starts a daemon in the foreground, which ends with the test.
func (c *cluster) daemon(name string, args ...string) *exec.Cmd {
	c.t.Helper()
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	d := exec.Command(name, args...)
	d.Stdout, d.Stderr, d.Dir = log, log, c.dir
	if err := d.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = d.Process.Kill() // it may have been killed
		_ = d.Wait()
		if c.t.Failed() {
			c.t.Logf("%s: %s", name, tail(log.Name(), 20))
		}
	})
	return d
}

// strays returns the processes that Slurm has started on the node: they have its configuration in their environment,
// and neither this process nor the controller is their parent.
func (c *cluster) strays() (pids []int) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("SLURM_CONF="+c.conf+"\x00")) {
			continue // ended, perhaps
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		status, err2 := os.ReadFile(filepath.Join(filepath.Dir(path), "status"))
		ours := pid == os.Getpid()
		for _, parent := range []int{os.Getpid(), c.controller} {
			ours = ours || bytes.Contains(status, fmt.Appendf(nil, "\nPPid:\t%d\n", parent))
		}
		if err == nil && err2 == nil && !ours {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (c *cluster) kill(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}

// until waits until something holds.
func (c *cluster) until(what string, limit time.Duration, holds func() bool) {
	c.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > limit {
			c.t.Fatalf("no %s after %v", what, limit)
		}
	}
}

func (c *cluster) says(name string, args ...string) string {
	out, _ := exec.Command(name, args...).Output() // a controller that starts does not answer
	return string(out)
}

// freePort returns a port of the loopback interface that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// following is a command that follows a job.
type following struct {
	*exec.Cmd
	mutex sync.Mutex
	text  bytes.Buffer // of both outputs
}

func (f *following) Write(p []byte) (int, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.text.Write(p)
}

func (f *following) said() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.text.String()
}

// worlds is a config of the experiment posterior-quality with as many units as worlds, each of which takes half a
// second.
func worlds() string {
	var seeds []string
	for i := range 40 {
		seeds = append(seeds, strconv.Itoa(1000+i))
	}
	return `{"Seeds": [` + strings.Join(seeds, ",") + `], "Chunk": 1, "Methods": ["avril-0.17"], "HeldOut": [], "Lambdas": [],
		"Again": 0, "Draws": 200, "World": {"Width": 4, "Height": 4}}`
}

// TestSlurmJobSurvives runs an experiment on a Slurm cluster whose tasks are cancelled, whose follower is interrupted,
// whose disk is filled and whose node crashes. The rows are those of one run, bit for bit.
func TestSlurmJobSurvives(t *testing.T) {
	c := start(t)
	t.Setenv("GOMLX_BACKEND", "go")
	program := filepath.Join(c.dir, "qvirl")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/qvirl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.write("worlds.json", worlds(), 0o644)
	config, single := filepath.Join(c.dir, "worlds.json"), filepath.Join(c.dir, "single")
	if out, err := exec.Command(program, "run", "posterior-quality", "--config", config, "--out",
		single).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	disk := filepath.Join(c.dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256m"); err != nil {
		t.Skipf("NOT RUN: no small disk can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	out := filepath.Join(disk, "results")
	follow := func() *following {
		f := &following{Cmd: exec.Command(program, "submit", "posterior-quality", "--config", config, "--engine",
			"slurm", "--tasks", "2",
			"--out", out, "--every", "300ms", "--retries", "20")}
		f.Stdout, f.Stderr = f, f
		if err := f.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = f.Process.Kill() // it has ended, unless the test failed
			if t.Failed() {
				t.Log(f.said())
			}
		})
		return f
	}
	done := func() int { units, _ := filepath.Glob(filepath.Join(out, "units", "*.json")); return len(units) }
	running := func() []string { return strings.Fields(c.says("squeue", "-h", "-t", "R", "-o", "%F_%K")) }

	f := follow()
	c.until("finished units", time.Minute, func() bool { return done() >= 2 })
	c.until("two running tasks", time.Minute, func() bool { return len(running()) == 2 })
	if text, err := exec.Command("scancel", running()[0]).CombinedOutput(); err != nil {
		t.Fatalf("scancel: %v %s", err, text)
	}
	note := func(pattern string) func() bool {
		return func() bool { return regexp.MustCompile(pattern).MatchString(f.said()) }
	}
	c.until("cancelled task that is submitted again", time.Minute, note(`CANCELLED.*: submitted again`))

	c.until("running task", time.Minute, func() bool { return len(running()) > 0 })
	_ = f.Process.Signal(os.Interrupt)
	if err := f.Wait(); f.ProcessState.ExitCode() != 130 || !strings.Contains(f.said(),
		"scancel --me --name=qvirl-posterior-quality-") ||
		len(running()) == 0 {
		t.Fatalf("the interrupted command ends with %v, tasks run: %q", err, running())
	}
	f = follow()
	c.until("tasks that were submitted before", time.Minute, note(`following \d tasks that were submitted before`))

	full := func() {
		ballast, err := os.OpenFile(filepath.Join(disk, "ballast"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer ballast.Close()
		if _, err := io.Copy(ballast, zeros{}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
	}
	full()
	before := done()
	c.until("task that fails on a full disk", time.Minute, note(`FAILED: NonZeroExitCode.*: submitted again`))
	logs, err := filepath.Glob(filepath.Join(out, LogsDir, "*"))
	if err != nil || len(logs) != 2 {
		t.Errorf("logs %q (error %v), want two", logs, err)
	}
	if err := os.Remove(filepath.Join(disk, "ballast")); err != nil {
		t.Fatal(err)
	}
	c.until("units after the disk was full", time.Minute, func() bool { return done() > before+2 })

	c.until("running task", time.Minute, func() bool { return len(running()) > 0 })
	before = done()
	if before >= 120 {
		t.Fatal("all units were finished before the node could crash")
	}
	_ = c.node.Process.Kill()
	_ = c.node.Wait() // killed
	c.kill(c.strays())
	c.until("node that is down", time.Minute, func() bool {
		return strings.HasPrefix(c.says("sinfo", "-h", "-o",
			"%T"), "down")
	})
	if now := done(); now >= 120 {
		t.Errorf("%d units are finished although the node crashed at %d", now, before)
	}
	c.startNode()
	c.until("idle node", time.Minute, func() bool {
		return strings.HasPrefix(c.says("sinfo", "-h", "-o", "%T"),
			"idle")
	})
	for _, id := range strings.Fields(c.says("squeue", "-h", "-r", "-t", "PD", "-o", "%i")) {
		// Slurm waits two minutes before it starts the tasks of a node that failed again
		if text, err := exec.Command("scontrol", "update", "JobId="+id, "StartTime=now").CombinedOutput(); err != nil {
			t.Errorf("scontrol: %v %s", err, text)
		}
	}

	// Slurm can lose a task that it starts while the node registers: it counts as running, and no process does. Those
	// who follow the job submit it again once it is cancelled, and so does the same command where all were.
	ended := make(chan error, 1)
	wait := func() { ended <- f.Wait() }
	go wait()
	cancelled := false
	for last, since := -1, time.Now(); ; {
		if now := done(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > 30*time.Second {
			c.says("scancel", running()...)
			cancelled, since = true, time.Now()
		}
		select {
		case err = <-ended:
		case <-time.After(time.Second):
			continue
		}
		if !cancelled || !strings.Contains(f.said(), errCancelled.Error()) {
			break
		}
		cancelled = false
		f = follow()
		go wait()
	}
	if err != nil {
		t.Fatalf("the job ended with %v", err)
	}
	want, err := os.ReadFile(filepath.Join(single, "rows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(out, "rows.csv")); err != nil || !bytes.Equal(got, want) ||
		len(want) < 10_000 {
		t.Errorf("%d bytes of rows (error %v) differ from the %d of one run", len(got), err, len(want))
	}
	began := time.Now()
	f = follow()
	if err := f.Wait(); err != nil || !strings.Contains(f.said(), "nothing is submitted") || len(running()) > 0 {
		t.Errorf("the finished job was submitted again: error %v after %v", err, time.Since(began))
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
