//go:build installed

package problemfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-birl/birl/envs/command"
)

// The arrays of SciPy's own sparse matrices, in CSR format and of coordinates, are read as they are.
func TestReadsSciPy(t *testing.T) {
	if err := command.UseInstallation(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out, err := exec.Command(os.Getenv(command.PythonVariable), "-c", `
import numpy as np, scipy.sparse as sp, sys
P = sp.lil_array((6, 3))                     # row s·A + a, column the successor
P[0, 0], P[0, 1], P[2, 2], P[3, 0], P[3, 1], P[3, 2] = .1, .9, 1, .5, .25, .25
rest = dict(prior_mean=[-1, 0, 2], prior_std=1.0, demos=[[0, 0]], discount=.9, beta=2.0)
C = P.tocsr()
np.savez(sys.argv[1] + "/csr.npz", transitions_probs=C.data, transitions_indices=C.indices,
         transitions_indptr=C.indptr, **rest)
C = P.tocoo()
np.savez(sys.argv[1] + "/coo.npz", transitions_probs=C.data,
         transitions_indices=np.stack([C.row // 2, C.row % 2, C.col], 1), **rest)`, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"csr.npz", "coo.npz"} {
		p, err := Read(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantP, p.MDP.Dense()); diff != "" || p.MDP.Actions() != 2 {
			t.Errorf("%s: transitions (-want +got):\n%s", name, diff)
		}
	}
}
