// Package gym drives Gymnasium environments from Go.
//
// A [Pool] is one vectorised environment: W worker processes with E environments each, all made by gymnasium.make from
// the same [Config]. Any environment with a Box observation and a Discrete action space works; what the experiments of
// this project need (Box2D, highway-env, Atari) is installed by
//
//	go run ./kernel-setup install --with envs
//
// [Pool.Reset] and [Pool.Step] mean what Gymnasium's reset and step mean. Terminated (the environment reached an end)
// and truncated (it was cut off, by a time limit say) are never merged. What happens after an episode is [Autoreset]'s
// choice.
//
// Go and a worker exchange one binary message for a whole batch. What an environment prints goes to its standard error,
// of which the last lines are part of an error's text. After a fault (a worker that died or exceeded its time limit, an
// exception in an environment, NaN) the pool is closed and every later call returns the same error, an [*Error].
// Workers end with the pool, with the context of [Open], and with this process, however it ends.
//
// To wake a sleeping process takes longer than all else that the bridge adds to a step of a fast environment. On Linux,
// therefore, each side polls for the other's message for some milliseconds before it sleeps, as long as nobody else
// wants the processor. For 8 environments of Lunar Lander in one worker the bridge then adds about a tenth to their own
// time, and a third or more while other work keeps the processors busy.
//
// # Atari and replay
//
// [Atari] is the usual preprocessing of Atari games by Gymnasium's own wrappers. Observations stay bytes from the
// emulator to a [demo.Trajectory], which holds each frame once. [AtariMemory] shows the console's memory in place of
// the screen, in the same episodes step for step.
//
// Where an episode follows from its seed and actions, these are all that a file of demonstrations need hold: [Replay]
// plays them again and compares rewards, the end, and the observations' SHA-256 with what was recorded.
//
// # Snapshots
//
// [Pool.Snapshot] and [Pool.Restore] bring an environment back to a state, in the same pool or another one. By
// environment:
//
//   - highway-env's highway and highway-fast: exact, from the vehicles' true state; see [HighwayState], which can be
//     edited;
//   - Atari: exact, from the emulator's state with its random state, and the frames that wrappers hold;
//   - all others: exact if the environment is deterministic given its seed, by replaying the episode's actions. The
//     replay's last observation is compared with the original one, so that a failure is noticed. Lunar Lander needs
//     about 30 µs a step, or 12 ms for 350 to 400 steps;
//   - Lunar Lander from a bare observation, [LunarState]: approximate, because an observation leaves out the legs' own
//     motion and the shape of the ground.
//
// [Pool.Branch] draws what an action could lead to, without a snapshot.
package gym
