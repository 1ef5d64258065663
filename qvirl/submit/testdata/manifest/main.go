// Command manifest reads a Job, in YAML or JSON, as the Kubernetes API server does: fields that it does not know are
// refused, what is left out gets its default, and the rules of the server's validation hold. It prints what is wrong.
package main

import (
	"fmt"
	"io"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/apis/batch"
	internal "k8s.io/kubernetes/pkg/apis/batch/v1"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := check(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("valid")
}

func check(manifest io.Reader) error {
	text, err := io.ReadAll(manifest)
	if err != nil {
		return err
	}
	var job batchv1.Job
	if err := yaml.UnmarshalStrict(text, &job); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{internal.AddToScheme, batch.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if want := batchv1.SchemeGroupVersion.WithKind("Job"); job.GroupVersionKind() != want {
		return fmt.Errorf("it is a %v, want a %v", job.GroupVersionKind(), want)
	}
	if job.Namespace == "" {
		job.Namespace = "default" // as kubectl sets it
	}
	scheme.Default(&job)
	var in batch.Job
	if err := scheme.Convert(&job, &in, nil); err != nil {
		return err
	}
	// the server's own: labels and a selector by the Job's identity
	manual := true
	in.Spec.ManualSelector = &manual
	in.Spec.Template.Labels = map[string]string{"job": in.Name}
	in.Spec.Selector = selector(in.Name)
	return validation.ValidateJob(&in, validation.JobValidationOptions{}).ToAggregate()
}

func selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"job": name}}
}
