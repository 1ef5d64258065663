package main

import "github.com/spf13/cobra"

func newScaling() *cobra.Command {
	return &cobra.Command{
		Use:   "scaling",
		Short: "How to spread an experiment over machines (Slurm, Kubernetes)",
		Long: `The units of an experiment are independent, so that n processes can share them: process i computes "--shard i/n". A
shard that was killed goes on where it stopped when it is started again with --resume. Processes beyond the number of
units, which "qvirl list" shows, have nothing to do.

With a shared file system all shards write to one folder, whose rows.csv is complete when the last one ends. A Slurm array:

  #!/bin/sh
  #SBATCH --array=1-5 --cpus-per-task=4 --time=1:00:00
  qvirl run posterior-quality --scale paper --resume \
      --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --out "$SCRATCH/posterior-quality"

An indexed Kubernetes job, whose indices count from 0, on a volume that all pods can write:

  apiVersion: batch/v1
  kind: Job
  metadata: {name: posterior-quality}
  spec:
    completionMode: Indexed
    completions: 5
    parallelism: 5
    template:
      spec:
        restartPolicy: OnFailure
        containers:
        - name: qvirl
          image: IMAGE-WITH-QVIRL
          command: [sh, -c, 'qvirl run posterior-quality --scale paper --resume
            --shard $((JOB_COMPLETION_INDEX + 1))/5 --out /results/posterior-quality']
          volumeMounts: [{name: results, mountPath: /results}]
        volumes:
        - name: results
          persistentVolumeClaim: {claimName: results}

Without a shared file system each shard writes to a folder of its own, and the folders are joined afterwards:

  qvirl merge shard-*/ --out results/posterior-quality`,
	}
}
