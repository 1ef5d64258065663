// Package expert trains experts by QR-DQN, the distributional Q-learning of Dabney, Rowland, Bellemare & Munos,
// "Distributional Reinforcement Learning with Quantile Regression" (AAAI 2018), and lets them demonstrate.
//
// [Train] learns the quantiles of the return of every action in an environment of envs/gym, and gives an [Expert]: a
// small file that plays greedily, or by the Boltzmann policy π(a|s) ∝ exp(β Q(s,a)) on the means of its quantiles.
// [Demonstrate] collects its trajectories. An expert computes in plain Go and needs no backend; training computes on
// the one that it is given.
//
// A Boltzmann policy asks more of the values than a greedy one: at β = 3 a difference of one point between two actions
// is a factor of twenty, whatever the values' own size. What [Config] offers for that, beside more steps, is said at
// its fields.
//
// On pixels a processor learns slowly. An expert of an Atari game therefore sees bytes of the console's memory
// (Config.Memory), and begins with a pilot's episodes; learners see the screen of the same episodes,
// which a replay of its actions shows (gym.Show). [Pong] and [SpaceInvaders] are such configs.
//
// The paper's two experts, which [LunarLander] and [Highway] configure, are stored in the project's
// results/expert-lunarlander and results/expert-highway, as expert.npz beside a thousand demonstrations each in
// demos.npz.
package expert
