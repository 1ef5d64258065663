// Package planning makes apprentices that use the environment: it plans, by reinforcement learning there, on what a
// model believes of the rewards.
//
// The model is QVIRL's of qvirl/neural/variational, best trained with auxiliary rollouts. Its posterior over the
// rewards of the demonstrated transitions, and of rollouts of its own apprentice, is carried on to all states and
// actions by a Gaussian process ([Process]): it is conditioned on the posterior means, with the posterior variances
// as those of independent noise. That counts the prior twice, in the posterior and in the process; to count it once
// makes apprentices far worse (results/planning-tried). [Plan] lets the learner of envs/expert, QR-DQN, maximise mean
// − risk · standard deviation of that. The environment's own rewards play no part: the best network is the one of the
// greatest planning objective.
//
// From demonstrations alone nothing puts their rewards above the prior's mean, which is learnt, too: on Lunar Lander it
// is off by a tenth of the prior's standard deviation, with rollouts by a quarter, as these were not chosen by the
// expert. Plan refuses a posterior that does not put the demonstrated rewards above the prior.
//
// With Config.Visits the process is conditioned on 1 at each demonstrated transition instead, and not on the posterior.
//
// The end of an episode pays for ever as a demonstrated step does, as far as a demonstration ended so, from a state
// before it on: a crash comes to rest like a landing. An episode that was cut off would have gone on. Where the
// demonstrations end sooner than episodes of a random policy, as in Acrobot or MountainCar, the end was sought: it then
// pays so much more that to reach it is worth more than to linger in the best demonstrated state. Where none of 100
// episodes of the random policy ends in as many steps as the longest of these demonstrations, every end is such a one.
package planning
