package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestNewEnough(t *testing.T) {
	for version, want := range map[string]bool{
		"3.10.0": true, "3.13.1": true, "3.9.18": false, "2.7.18": false, "3": false, "": false, "4.0.0": false,
		"3.x.1": false,
	} {
		if newEnough(version) != want {
			t.Errorf("newEnough(%q) = %v", version, !want)
		}
	}
}

func TestNoSuitablePython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := findPython(t.Context(), "")
	h, ok := errors.AsType[hinted](err)
	if !ok || !strings.Contains(h.hint, "--python") || !strings.Contains(err.Error(), "none was found on PATH") {
		t.Errorf("error %v, want one that says how to name a Python", err)
	}
}

func TestUsualFailuresAreExplained(t *testing.T) {
	failed := func(line string) error { return &commandError{Command: "pip", Tail: []string{"…", line}} }
	for _, test := range []struct {
		err  error
		want string
	}{
		{explainVenv(failed("ensurepip is not available"), "/usr/bin/python3"), "python3-venv"},
		{explainPip(failed("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.")),
			"another index"},
		{explainPip(failed("ERROR: No matching distribution found for x==1")), "pip config list"},
		{explainPip(failed("OSError: [Errno 28] No space left on device")), "make room"},
		{explainPlugin(explainPip(failed("ERROR: No matching distribution found for x==1"))), "--no-xla"},
		{explainPlugin(errors.New("SHA-256 differs")), "--no-xla"},
	} {
		h, ok := errors.AsType[hinted](test.err)
		if !ok || !strings.Contains(h.hint, test.want) {
			t.Errorf("%v: hint %q, want one with %q", test.err, h.hint, test.want)
		}
	}
}

// Every requirement is pinned and carries digests, or pip would refuse the list on the machine that needs the line.
func TestRequirementsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`^[a-z0-9.-]+==[0-9][^ ]*( ; [^\\]+)? \\$`)
	for name, list := range map[string]string{"requirements.txt": requirements,
		"requirements-cuda.txt": requirementsCUDA, "requirements-envs.txt": requirementsEnvs} {
		lines := strings.Split(strings.TrimSpace(list), "\n")
		count := 0
		for i, line := range lines {
			if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "    --hash=sha256:") {
				continue
			}
			count++
			if !pinned.MatchString(line) {
				t.Errorf("%s, line %d is not pinned: %s", name, i+1, line)
			}
			if i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "    --hash=sha256:") {
				t.Errorf("%s, line %d has no digest", name, i+1)
			}
		}
		if count < 10 {
			t.Errorf("%s holds %d requirements", name, count)
		}
	}
	for _, needed := range []string{"jupyterlab==", "nbclient==", "nbconvert==", "numpy=="} {
		if !strings.Contains(requirements, "\n"+needed) {
			t.Errorf("requirements.txt lacks %s", needed)
		}
	}
}

// pip must not replace what JupyterLab was installed with.
func TestSharedRequirementsAgree(t *testing.T) {
	pin := regexp.MustCompile(`(?m)^([a-z0-9.-]+)==([^ ]+)`)
	base := map[string][]string{}
	for _, m := range pin.FindAllStringSubmatch(requirements, -1) {
		base[m[1]] = append(base[m[1]], m[2])
	}
	added, shared := map[string]string{}, 0
	for _, m := range pin.FindAllStringSubmatch(requirementsEnvs, -1) {
		name, version := m[1], m[2]
		added[name] = version
		if base[name] == nil {
			continue
		}
		shared++
		if !slices.Contains(base[name], version) {
			t.Errorf("requirements-envs.txt pins %s %s, requirements.txt %v", name, version, base[name])
		}
	}
	for _, name := range []string{"pip", "setuptools"} { // which a new virtual environment holds in other versions
		if added[name] != "" && base[name] == nil {
			t.Errorf("requirements-envs.txt would replace %s, and with it what the Python step has installed", name)
		}
	}
	if shared < 3 {
		t.Errorf("%d shared packages found: the lists were not read", shared)
	}
	for name, version := range map[string]string{"gymnasium": "1.2.3", "highway-env": "1.10.2", "ale-py": "0.12.1"} {
		if added[name] != version {
			t.Errorf("requirements-envs.txt pins %s %q, want %s", name, added[name], version)
		}
	}
}
