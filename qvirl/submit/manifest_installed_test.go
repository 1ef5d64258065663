//go:build installed

package submit

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestManifestIsValid has the checks of Kubernetes' own API server read the manifest, and some that are not right.
func TestManifestIsValid(t *testing.T) {
	program := filepath.Join(t.TempDir(), "manifest")
	if out, err := exec.Command("go", "-C", "testdata/manifest", "build", "-o", program,
		".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	k := Kubernetes{Namespace: "birl", Image: "registry.example/qvirl:1", Claim: "results", Mount: "/results",
		Memory: "8Gi", Retries: 3}
	manifest, err := k.Script(Job{Name: "qvirl-posterior-quality-01234567", Command: []string{"qvirl", "run", "it's"},
		Out: "/results/pq", Tasks: 16, CPUs: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, says string }{
		{"", "", ""},
		{`"Never"`, `"OnFailure"`, "restartPolicy"},
		{`"completions": 16,`, "", "completions"},
		{`"claimName"`, `"claim"`, "unknown field"},
		{`"8Gi"`, `"8 Gi"`, "quantities must match"},
		{`"qvirl-posterior-quality-01234567"`, `"qvirl_posterior"`, "metadata.name"},
	} {
		bad := strings.ReplaceAll(manifest, c.old, c.new)
		if c.old != "" && bad == manifest {
			t.Fatalf("the manifest has no %s:\n%s", c.old, manifest)
		}
		if c.old == "" {
			bad = manifest
		}
		check := exec.Command(program)
		check.Stdin = strings.NewReader(bad)
		out, err := check.CombinedOutput()
		if (err == nil) != (c.says == "") || !strings.Contains(string(out), c.says) {
			t.Errorf("%s for %s: it says %q (error %v), want %q", c.new, c.old, out, err, c.says)
		}
	}
}
