package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-birl/birl/envs/command"
)

// Kubernetes runs the tasks as pods of an indexed Job, driven by kubectl. The folder of the results lies on the volume
// of a claim, which is mounted at the same path in the pods and where the job is followed.
type Kubernetes struct {
	Namespace string // kubectl's default if empty
	Image     string // that has the program of the job's command
	Claim     string // persistent volume claim that all pods can write
	Mount     string // absolute path of its volume
	Memory    string // of a pod, such as 8Gi; no limit if empty
	Retries   int    // of a pod, beside those after an eviction or a pre-emption
}

// tasksAnnotation lists the tasks of the Job's indices.
const tasksAnnotation = "birl/tasks"

// object is a JSON object.
type object = map[string]any

// Script implements Engine: a manifest for kubectl apply, in JSON.
func (k Kubernetes) Script(j Job) (string, error) {
	tasks := make([]int, j.Tasks)
	for i := range tasks {
		tasks[i] = i + 1
	}
	return k.manifest(j, tasks)
}

func (k Kubernetes) manifest(j Job, tasks []int) (string, error) {
	if !strings.HasPrefix(j.Out+"/", strings.TrimSuffix(k.Mount, "/")+"/") {
		return "", fmt.Errorf("submit: the folder of the results, %s, is not on the volume that is mounted at %s",
			j.Out, k.Mount)
	}
	words := make([]string, len(tasks))
	for i, t := range tasks {
		words[i] = strconv.Itoa(t)
	}
	requests := object{"cpu": strconv.Itoa(j.CPUs)}
	resources := object{"requests": requests}
	if k.Memory != "" {
		requests["memory"] = k.Memory
		resources["limits"] = object{"memory": k.Memory}
	}
	meta := object{"name": j.Name, "annotations": object{tasksAnnotation: strings.Join(words, ",")}}
	if k.Namespace != "" {
		meta["namespace"] = k.Namespace
	}
	container := object{
		"name":  "qvirl",
		"image": k.Image,
		// the numbers of the tasks are the script's arguments, of which the index chooses one
		"command": append([]string{"sh", "-c",
			fmt.Sprintf(`shift "$JOB_COMPLETION_INDEX"; exec %s >>%s/task-"$1".log 2>&1`, j.shell(`"$1"`),
				command.Quote(filepath.Join(j.Out, LogsDir))),
			"sh"}, words...),
		"env":          []object{{"name": "GOMAXPROCS", "value": strconv.Itoa(j.CPUs)}},
		"resources":    resources,
		"volumeMounts": []object{{"name": "results", "mountPath": k.Mount}},
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(object{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": meta,
		"spec": object{
			"completionMode": "Indexed", "completions": len(tasks), "parallelism": len(tasks),
			"backoffLimitPerIndex": k.Retries, "maxFailedIndexes": len(tasks),
			"podFailurePolicy": object{"rules": []object{{"action": "Ignore",
				"onPodConditions": []object{{"type": "DisruptionTarget", "status": "True"}}}}},
			"template": object{"spec": object{
				"restartPolicy": "Never", "containers": []object{container},
				"volumes": []object{{"name": "results", "persistentVolumeClaim": object{"claimName": k.Claim}}}}},
		}})
	return text.String(), err
}

// kubectl runs kubectl in the namespace.
func (k Kubernetes) kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	if k.Namespace != "" {
		args = append([]string{"--namespace", k.Namespace}, args...)
	}
	return output(ctx, stdin, "kubectl", args...)
}

// Submit implements Engine. An earlier Job of the name is over, and is removed.
func (k Kubernetes) Submit(ctx context.Context, j Job, tasks []int) error {
	manifest, err := k.manifest(j, tasks)
	if err != nil {
		return err
	}
	if _, err := k.kubectl(ctx, "", "delete", "job", j.Name, "--ignore-not-found", "--wait"); err != nil {
		return err
	}
	_, err = k.kubectl(ctx, manifest, "apply", "-f", "-")
	return err
}

// Tasks implements Engine. While a Job goes on, which starts its pods again by itself, all its other tasks are held, as
// Submit would remove it.
func (k Kubernetes) Tasks(ctx context.Context, j Job) (map[int]State, error) {
	text, err := k.kubectl(ctx, "", "get", "job", j.Name, "--ignore-not-found", "--output=json")
	if err != nil || strings.TrimSpace(text) == "" {
		return nil, err
	}
	return jobStates([]byte(text), j.Tasks)
}

// jobStates reads the states of so many tasks from a Job, which may be of some of them.
func jobStates(text []byte, count int) (map[int]State, error) {
	var job struct {
		Metadata struct{ Annotations map[string]string }
		Status   struct {
			Ready                           int
			CompletedIndexes, FailedIndexes string
			Conditions                      []struct{ Type, Status, Reason, Message string }
		}
	}
	if err := json.Unmarshal(text, &job); err != nil {
		return nil, fmt.Errorf("submit: kubectl get job: %w", err)
	}
	var wrong error
	list := func(what, text string) []int {
		out, err := numbers(text)
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("submit: the Job's %s: %w", what, err))
		}
		return out
	}
	tasks := list("annotation "+tasksAnnotation, job.Metadata.Annotations[tasksAnnotation])
	completed := list("completedIndexes", job.Status.CompletedIndexes)
	failed := list("failedIndexes", job.Status.FailedIndexes)
	if wrong != nil {
		return nil, wrong
	}
	over, reason := false, ""
	for _, c := range job.Status.Conditions {
		if c.Status == "True" && (c.Type == "Complete" || c.Type == "Failed") {
			over, reason = true, strings.Trim(c.Reason+": "+c.Message, ": ")
		}
	}
	states, done := map[int]State{}, Ended
	if !over {
		done = Held
		for task := range count {
			states[task+1] = State{Phase: Held}
		}
	}
	running := job.Status.Ready
	for index, task := range tasks {
		switch {
		case slices.Contains(completed, index):
			states[task] = State{done, "Complete"}
		case over:
			states[task] = State{Ended, reason}
		case slices.Contains(failed, index):
			states[task] = State{Waiting, "Failed"}
		case running > 0:
			running--
			states[task] = State{Running, ""}
		default:
			states[task] = State{Waiting, ""}
		}
	}
	return states, nil
}

// numbers reads what ranges writes.
func numbers(text string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out, nil
}

// Leave implements Engine.
func (k Kubernetes) Leave(j Job) string {
	kubectl := "kubectl"
	if k.Namespace != "" {
		kubectl += " --namespace " + k.Namespace
	}
	return fmt.Sprintf(goesOn, kubectl+" get pods --selector=job-name="+j.Name, kubectl+" delete job "+j.Name)
}
