// Package neural learns from demonstrations in environments with continuous observations and discrete actions, by
// neural networks: QVIRL with a Gaussian-process prior over rewards, and what it is compared with.
//
// A learner is an [Objective]: which networks it has, what it minimises, and which policy follows. Everything else is
// the same for all of them and lives here: the data of a [Task], the encoder, [Learner] which trains, the [Model] that
// comes out, [Score] on held-out demonstrations and [Rollout] in the environment.
//
// Observations that are stacks of pictures ([Image]) stay bytes, each frame held once, until a graph scales them to
// [0, 1]; they pass an encoder of convolutions before the layers that all learners have.
//
// From a few trajectories networks are too sure of what they have not seen. [Calibration] holds their action
// probabilities back as far as parts of the demonstrations ask for it.
//
// Several runs, each with demonstrations and a seed of its own, are trained as one program: every array has a leading
// axis over runs, and no operation mixes them.
package neural
