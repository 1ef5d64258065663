# The last part of the worker: its environments, and what it answers.

MOST_HISTORY = 1 << 12  # rows
COPY_ENDED = 77  # exit status of a copy that was asked to end
SINCE = "as since Gym 0.26"
WHERE_TO_WRAP = "in the module that registers the environment, or among the Wrappers of gym.Config"


class Slot:
    """One environment with what is needed to bring it back to where it is."""

    def __init__(self, env):
        self.env, self.step = env, env.step
        self.seed = None  # of the last seeded reset
        self.start = None  # how the episode began: {"seed": …} or {"rng": …}
        self.actions = []  # taken since then and before the worker's history begins
        self.since = 0  # the row of the worker's history where they go on
        self.over = True  # no episode is under way

    def reset(self, seed, now):
        """Begins an episode; now is the length of the worker's history."""
        if seed is None:
            generator = getattr(self.env.unwrapped, "_np_random", None)
            self.start = None if generator is None else {"rng": generator.bit_generator.state}
            observation = self.first(self.env.reset())
        else:
            self.start = {"seed": seed}
            observation = self.first(self.env.reset(seed=seed))
            self.seed = seed
        self.actions, self.since = [], now
        self.over = False
        return observation

    @staticmethod
    def first(answer):
        """The observation that an environment's reset returned."""
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise TypeError(f"reset returned {answer!r:.200}, want (observation, info), {SINCE}")
        return answer[0]


def load(name):
    """Imports "module:attribute"."""
    module, _, attribute = name.partition(":")
    found = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def number(reward):
    """The number that an array of one number holds: NumPy's arithmetic turns rewards into such arrays easily."""
    array = np.asarray(reward)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise ValueError(f"the reward is {reward!r:.200}, want a number")
    return float(array.reshape(()))


def make(gymnasium, config):
    try:
        env = gymnasium.make(config["id"], disable_env_checker=True, **config["options"])
    except OSError as e:
        if config["id"].startswith("ALE/"):
            raise NoROM(str(e)) from e
        raise
    except gymnasium.error.UnregisteredEnv as e:
        raise Refused(f"{e} Environments of a package of your own are known once --import (in Go: Config.Imports) "
                      "names the module that registers them") from e
    for wrapper in config["wrappers"]:
        env = load(wrapper["class"])(env, **wrapper["options"])
    return env


class Worker:
    is_copy = False

    def __init__(self, config):
        sys.path[:0] = config["python_path"]
        try:
            global np
            import gymnasium
            import numpy as np
        except ModuleNotFoundError as e:
            raise Missing(e.name or str(e)) from e
        try:
            for name in config["imports"]:
                module = importlib.import_module(name)
                if name == "ale_py":
                    gymnasium.register_envs(module)
            self.slots = [Slot(make(gymnasium, config)) for _ in range(config["count"])]
        except ModuleNotFoundError as e:
            raise Missing(e.name or str(e)) from e
        except gymnasium.error.DependencyNotInstalled as e:
            raise Missing(str(e)) from e
        if sys.byteorder != "little":
            raise Refused("this machine is big-endian, which the bridge does not support")
        self.same_step = config["autoreset"] == "same-step"
        self.check_spaces(gymnasium.spaces)
        self.allocate()
        self.start = int(self.slots[0].env.action_space.start)  # the first action
        self.history = []  # the actions of each step for all environments
        modules = {env.unwrapped.__class__.__module__.partition(".")[0] for env in (s.env for s in self.slots)}
        send_json(
            "I",
            {
                "shape": list(self.shape),
                "dtype": self.dtype.name,
                "actions": int(self.slots[0].env.action_space.n),
                "start": self.start,
                "versions": versions(modules | {"gymnasium"}),
                "snapshot": snapshot_kind(self.slots[0].env),
                "limit": step_limit(self.slots[0].env),
                "pid": os.getpid(),
            },
        )

    def check_spaces(self, spaces):
        env = self.slots[0].env
        self.space = env.observation_space
        if not isinstance(self.space, spaces.Box):
            raise Refused(f"its observations are {self.space}, want a Box (the wrapper FlattenObservation makes one of "
                          f"many spaces: {WHERE_TO_WRAP})")
        if not isinstance(env.action_space, spaces.Discrete):
            raise Refused(f"its actions are {env.action_space}, want Discrete (an ActionWrapper that numbers the "
                          "combinations of a MultiDiscrete, or a few values of a Box, makes them so: "
                          f"{WHERE_TO_WRAP})")
        self.shape, self.dtype = self.space.shape, self.space.dtype.newbyteorder("<")  # as Go reads numbers

    def allocate(self):
        """Lays out the answer to a step: header, rewards, terminated, truncated, observations, final observations."""
        n = len(self.slots)
        size = self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))
        flags = 8 + 8 * n
        first = flags + 2 * n + (-2 * n) % 8
        self.fixed = first + n * size
        answer = bytearray(first + 2 * n * size)
        struct.pack_into("<IB3s", answer, 0, self.fixed - 8, ord("B"), TAG)
        self.answer = memoryview(answer)
        self.rewards = self.answer[8:flags].cast("d")
        self.flags, self.no_flags = self.answer[flags : flags + 2 * n], bytes(2 * n)
        self.terminated, self.truncated = self.flags[:n], self.flags[n:]

        def rows(at):
            block = np.frombuffer(answer, self.dtype, n * size // self.dtype.itemsize, at)
            block = block.reshape((n,) + self.shape)
            return [block[i, ...] for i in range(n)]  # views, even of observations that are a single number

        self.observations, self.finals = rows(first), rows(self.fixed)
        self.first, self.size = first, size
        self.usual = self.answer[: self.fixed]  # without final observations

    def put(self, i, observation):
        """Copies an observation into the answer. Gymnasium's vector environments cast to the space's type too."""
        observation = np.asarray(observation)
        self.check(observation)
        self.observations[i][...] = observation

    def check(self, observation):
        if observation.shape != self.shape:
            raise ValueError(f"the observation has the shape {observation.shape}, its space says {self.shape}")

    def step(self, requests, length):
        slots, shape = self.slots, self.shape
        actions = requests.body(length).cast("q").tolist()
        rewards, observations = self.rewards, self.observations
        self.flags[:] = self.no_flags
        finals = i = 0
        try:
            for slot in slots:
                if actions[i] < self.start:  # leave it alone
                    rewards[i] = 0
                    i += 1
                    continue
                if slot.over:
                    raise RuntimeError("its episode is over, or has not begun: reset it first")
                answer = slot.step(actions[i])
                try:
                    observation, reward, ended, cut, _ = answer
                except (TypeError, ValueError):
                    raise TypeError(
                        f"step returned {answer!r:.200}, want (observation, reward, terminated, truncated, info), "
                        + SINCE
                    ) from None
                try:
                    rewards[i] = reward
                except TypeError:
                    rewards[i] = number(reward)
                if type(observation) is not np.ndarray:
                    observation = np.asarray(observation)
                if observation.shape != shape:
                    self.check(observation)
                if ended or cut:
                    self.terminated[i], self.truncated[i] = 1 if ended else 0, 1 if cut else 0
                    if self.same_step:
                        self.finals[finals][...] = observation
                        finals += 1
                        observation = np.asarray(slot.reset(None, len(self.history) + 1))
                        self.check(observation)
                    else:
                        slot.over = True
                observations[i][...] = observation
                i += 1
        except Exception as e:
            raise Failure(slots[i], f"step with action {actions[i]}") from e
        self.history.append(actions)
        if len(self.history) >= MOST_HISTORY:
            self.fold()
        if finals:
            struct.pack_into("<I", self.answer, 0, self.fixed - 8 + finals * self.size)
            write(self.answer[: self.fixed + finals * self.size])
            struct.pack_into("<I", self.answer, 0, self.fixed - 8)
        else:
            write(self.usual)

    def actions_of(self, i):
        """The actions of environment i since its episode began."""
        slot = self.slots[i]
        return slot.actions + [row[i] for row in self.history[slot.since :] if row[i] >= self.start]

    def fold(self):
        """Empties the history into the environments' own lists. Keeping one list for all makes a step cheaper."""
        for i, slot in enumerate(self.slots):
            slot.actions, slot.since = self.actions_of(i), 0
        self.history.clear()

    def reset(self, request):
        """Resets the environments that the request lists, {"envs": [index…], "seeds": [seed or null…]}."""
        for i, seed in zip(request["envs"], request["seeds"]):
            slot = self.slots[i]
            try:
                self.put(i, slot.reset(seed, len(self.history)))
            except Exception as e:
                slot.seed = seed
                raise Failure(slot, "reset") from e
        send("O", self.answer[self.first : self.fixed])

    def snapshot(self, request):
        i = request["env"]
        slot = self.slots[i]
        if slot.over:
            raise Refused("its episode is over, or has not begun: there is nothing to take a snapshot of")
        state = take(slot, self.actions_of(i))
        state["id"] = slot.env.unwrapped.spec.id
        state["observation"] = encode(self.observations[i])
        send_json("P", state)

    def restore(self, request):
        for i, state in zip(request["envs"], request["snapshots"]):
            self.restore_one(i, state)
        send("O", self.answer[self.first : self.fixed])

    def restore_one(self, i, state):
        slot = self.slots[i]
        ours, theirs = slot.env.unwrapped.spec.id, state.get("id")
        if theirs and theirs != ours:
            raise Refused(f"the snapshot is of {theirs}, the environment is {ours}")
        give = RESTORE.get(state.get("kind"))
        if give is None:
            raise Refused(f"a snapshot of the kind {state.get('kind')!r} is not known")
        try:
            observation = give(slot, state, len(self.history))
        except Refused:
            raise
        except Exception as e:
            raise Failure(slot, "restore") from e
        slot.over = False
        stored = state.get("observation")
        if stored is not None:
            stored = decode(stored, self.dtype, self.shape)
            if observation is None:
                observation = stored
            elif np.asarray(observation, self.dtype).tobytes() != stored.tobytes():
                raise Failure(slot, "restore") from RuntimeError(
                    "replaying its actions led elsewhere: the environment is not deterministic")
        self.put(i, observation)

    def branch(self, request):
        """Takes a step in copies of an environment, one for each seed of its random generator; itself stays."""
        slot, action = self.slots[request["env"]], request["action"] + self.start
        if not hasattr(os, "fork"):
            raise Refused("this system cannot copy a process, which a branch takes")
        if slot.over:
            raise Refused("its episode is over, or has not begun: reset it first")

        def put(observation):
            observation = np.asarray(observation, self.dtype)
            self.check(observation)
            return np.ascontiguousarray(observation).tobytes()

        copies = [fork(slot, action, seed, put) for seed in request["seeds"]]
        try:
            send("K", *[collect(*c) for c in copies])
        except Exception as e:
            raise Failure(slot, f"a branch with action {action}") from e

    def copy(self):
        """Lets a copy of this process answer, and waits until it is asked to end: the environments stay."""
        if not hasattr(os, "fork"):
            raise Refused("this system cannot copy a process")
        child = os.fork()
        if child:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code != COPY_ENDED:
                os._exit(0 if code == 0 else 1)  # it found nobody asking any more, or died
        else:
            self.is_copy = True
        send("C")

    def end_copy(self):
        if not self.is_copy:
            raise Refused("this is no copy of a worker")
        os._exit(COPY_ENDED)

    def render(self, request):
        slot = self.slots[request["env"]]
        picture = slot.env.render()
        viewer = getattr(slot.env.unwrapped, "viewer", None)
        if getattr(viewer, "enabled", True) is False:
            viewer.enabled = True  # highway-env leaves pictures black where there is no window
            picture = slot.env.render()
        if isinstance(picture, list):  # the modes that end in _list
            picture = picture[-1] if picture else None
        picture = None if picture is None else np.asarray(picture)
        if picture is None or picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
            raise Refused('it draws no RGB picture: open it with the option render_mode "rgb_array"')
        send("F", struct.pack("<II", *picture.shape[:2]), np.ascontiguousarray(picture).tobytes())

    def policy(self, request):
        """Asks a Python function of an environment and its observation for an action in each environment of a list."""
        try:
            function = load(request["function"])
        except (ImportError, AttributeError, ValueError) as e:
            raise Refused(f"{request['function']} cannot be imported as module:function: {e}") from e
        actions = []
        for i in request["envs"]:
            try:
                actions.append(int(function(self.slots[i].env, self.observations[i].copy())) - self.start)
            except Exception as e:
                raise Failure(self.slots[i], f"ask the policy {request['function']}") from e
        send_json("A", actions)


def versions(modules):
    """Maps each distribution that one of the modules comes from to its version."""
    from importlib import metadata

    owners = metadata.packages_distributions()
    names = {owner for module in modules for owner in owners.get(module, [])}
    return {name: metadata.version(name) for name in sorted(names)}


def importer(error):
    """The module whose import failed with the error.

    It is "" where that was the worker's own, or Gymnasium's of an environment.
    """
    modules = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
    module = [name for name in modules if name.partition(".")[0] != "importlib"][-1]
    return "" if module.partition(".")[0] in ("__main__", "gymnasium") else module


def describe(error):
    """What the other side is told of an exception."""
    slot, refused = getattr(error, "slot", None), isinstance(error, Refused)
    cause = error.__cause__ if isinstance(error, (Failure, Missing)) else error
    return {
        "refused": refused,
        "missing": str(error) if isinstance(error, Missing) else "",
        "importer": importer(cause) if isinstance(error, Missing) else "",
        "rom": str(error) if isinstance(error, NoROM) else "",
        "slot": slot,
        "doing": getattr(error, "doing", ""),
        "message": str(error) if refused else "".join(traceback.format_exception_only(cause)).strip(),
        "traceback": "" if refused else "".join(traceback.format_exception(cause)),
    }


def main():
    requests = Requests()
    worker = None
    while True:
        try:
            kind, length = requests.next()
        except Gone:
            for slot in worker.slots if worker else []:
                slot.env.close()
            os._exit(0)  # without the time that Python takes to clean up
        try:
            if kind == 83:  # S
                worker.step(requests, length)
            elif kind == 73:  # I
                worker = Worker(requests.json(length))
            elif kind == 82:  # R
                worker.reset(requests.json(length))
            elif kind == 80:  # P
                worker.snapshot(requests.json(length))
            elif kind == 76:  # L
                worker.restore(requests.json(length))
            elif kind == 75:  # K
                worker.branch(requests.json(length))
            elif kind == 67:  # C
                worker.copy()
            elif kind == 88:  # X
                worker.end_copy()
            elif kind == 70:  # F
                worker.render(requests.json(length))
            elif kind == 65:  # A
                worker.policy(requests.json(length))
        except Exception as e:
            told = describe(e)
            told["slot"] = worker.slots.index(told["slot"]) if told["slot"] is not None else -1
            send_json("E", told)


main()
