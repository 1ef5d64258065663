# Part of the worker: Atari games as seen in the console's memory.

FRAME_SKIP, MOST_NOOPS = 4, 30  # as Gymnasium's AtariPreprocessing has them


def atari_memory(env, addresses, changes, pairs, bits):
    """Shows bytes of the console's memory where AtariPreprocessing shows the screen of the same episode.

    An observation holds each byte over 255, then by how much it has changed in the last step and in those before it,
    where no byte changes before an episode's first step, then the differences of pairs of bytes, and at last the bits
    of each byte of a list. Changes and differences are in units of 16 and at most 1.
    """
    import gymnasium

    n, (left, right) = len(addresses), np.array(pairs, int).reshape(-1, 2).T

    class AtariMemory(gymnasium.Wrapper):
        def __init__(self):
            super().__init__(env)
            size = (1 + changes) * n + len(pairs) + 8 * len(bits)
            self.observation_space = gymnasium.spaces.Box(-1, 1, (size,), np.float32)
            self.seen = np.empty((1 + changes, n), np.int16)  # the last step's first

        def observe(self):
            self.seen[1:] = self.seen[:-1]
            memory = self.unwrapped.ale.getRAM()
            self.before, self.now = self.now, memory.tobytes()
            self.seen[0] = memory[addresses]
            steps = (self.seen[:-1] - self.seen[1:] + 128) % 256 - 128  # a byte that runs over has changed by little
            near = np.concatenate([steps.ravel(), memory[left].astype(np.int16) - memory[right]])
            seen = [self.seen[0] / 255, np.clip(near / 16, -1, 1), np.unpackbits(memory[bits])]
            return np.concatenate(seen).astype(np.float32)

        def reset(self, *, seed=None, options=None):
            _, info = self.env.reset(seed=seed, options=options)
            for _ in range(self.unwrapped.np_random.integers(1, MOST_NOOPS + 1)):
                _, _, ended, cut, info = self.env.step(0)
                if ended or cut:
                    _, info = self.env.reset(seed=seed, options=options)
            self.plan = {}  # a pilot's
            memory = self.unwrapped.ale.getRAM()
            self.before = self.now = memory.tobytes()
            self.seen[:] = memory[addresses]
            return self.observe(), info

        def step(self, action):
            total = 0.0
            for _ in range(FRAME_SKIP):
                _, reward, ended, cut, info = self.env.step(action)
                total += reward
                if ended or cut:
                    break
            return self.observe(), total, ended, cut, info

    return AtariMemory()


def slip(memory):
    """An action at random that follows from the memory, in one step of twenty; None in others."""
    import zlib

    luck = zlib.crc32(memory)
    return luck // 20 % 6 if luck % 20 == 0 else None


PONG_AIMS = 8, 5, 2, 14, 11, -1, -4  # below the paddle's upper end, that which sends the ball back most often first


def pong_pilot(env, observation):
    """Plays Pong by looking ahead in the emulator for a stroke that scores, but for one step in twenty."""
    plan, before, now = (env.get_wrapper_attr(name) for name in ("plan", "before", "now"))
    slipped = slip(now)
    if slipped is not None:
        return slipped
    if now not in plan and pong_coming(before, now) and now[49] > 110:
        pong_plan(env.unwrapped, plan, before, now)
    return plan.get(now, pong_chase(before, now, PONG_AIMS[0]))


def pong_coming(before, now):
    """Whether the ball flies towards the player, by the memory at two steps."""
    return now[54] > 0 and 0 < now[49] - before[49] < 20


def pong_chase(before, now, aim):
    """Moves the paddle so that the ball is so many lines below its upper end."""
    if now[54] == 0:
        return 0
    ball, paddle = now[54], now[51]
    ball += ball - before[54] if before[54] else 0
    below = ball - paddle - 0.5 * (paddle - before[51]) - aim  # a paddle in motion goes on
    return 0 if abs(below) <= 9 else 3 if below > 0 else 2


def pong_plan(game, plan, before, now):
    """Adds to a plan, an action for each memory, the first stroke that scores, or else that sends the ball back."""
    ale, start, best = game.ale, game.ale.cloneState(), -1
    for aim in PONG_AIMS:
        was, memory, way, back, score = before, now, {}, False, 0
        for _ in range(160):
            way[memory] = pong_chase(was, memory, PONG_AIMS[0] if back else aim)
            score = sum(ale.act(game._action_set[way[memory]]) for _ in range(FRAME_SKIP))
            was, memory = memory, ale.getRAM().tobytes()
            coming = pong_coming(was, memory)
            back = back or not coming and memory[49] < 180
            if score or back and coming and memory[49] > 110:
                break
        ale.restoreState(start)
        if score > best:
            plan.update(way)
            best = score
        if score > 0:
            break


# Steps of Space Invaders that are looked ahead, those of them that are played before the next look, and what being hit
# costs.
INVADERS_AHEAD, INVADERS_KEPT, INVADERS_HIT = 16, 4, 300


def invaders_ways():
    """Ways to go on: to stay, and to move for some steps and stay, each with and without firing on the way."""
    fire, right, left, right_fire, left_fire = 1, 2, 3, 4, 5
    ways = [[fire] * INVADERS_AHEAD, [0] * INVADERS_AHEAD]
    for steps in 3, 6, 10:
        for move in right, right_fire, left, left_fire:
            ways.append([move] * steps + [fire] * (INVADERS_AHEAD - steps))
    return ways


def invaders_pilot(env, observation):
    """Plays Space Invaders by looking ahead in the emulator for the way that scores most unhit, but for slips."""
    plan, now = (env.get_wrapper_attr(name) for name in ("plan", "now"))
    slipped = slip(now)
    if slipped is not None:
        return slipped
    if now not in plan:
        invaders_plan(env.unwrapped, plan, now)
    return plan[now]


def invaders_plan(game, plan, now):
    """Adds the first steps of the best way to a plan, an action for each memory.

    Points lose 3 % of their worth a step.
    """
    ale, start, best = game.ale, game.ale.cloneState(), None
    for way in invaders_ways():
        value, worth, memory, first = 0.0, 1.0, now, {}
        for k, action in enumerate(way):
            if k < INVADERS_KEPT:
                first[memory] = action
            value += worth * sum(ale.act(game._action_set[action]) for _ in range(FRAME_SKIP))
            memory, worth = ale.getRAM().tobytes(), 0.97 * worth
            if memory[42] == 4 or ale.game_over():  # hit; the life is lost 128 frames later
                value -= worth * INVADERS_HIT
                break
        ale.restoreState(start)
        if best is None or value > best[0]:
            best = value, first
    plan.update(best[1])
