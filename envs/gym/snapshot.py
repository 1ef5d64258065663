# Part of the worker: what it takes to bring an environment back to where it was.

def encode(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def decode(text, dtype, shape):
    data = base64.b64decode(text)
    count = int(np.prod(shape, dtype=np.int64))
    if len(data) != count * np.dtype(dtype).itemsize:
        want = f"an array {tuple(shape)} of {np.dtype(dtype).name}"
        raise Refused(f"the snapshot holds {len(data)} bytes where {want} belongs")
    return np.frombuffer(data, dtype).reshape(shape).copy()


STATELESS = {
    "OrderEnforcing", "PassiveEnvChecker", "FlattenObservation", "TransformObservation", "RescaleObservation",
    "ReshapeObservation", "ResizeObservation", "GrayscaleObservation", "DtypeObservation", "TransformReward",
    "ClipReward", "FilterObservation",
}  # fmt: skip


def layers(env):
    while env is not env.unwrapped:
        yield env
        env = env.env


def wrapper_state(env):
    """Returns the state of each wrapper, or the name of the first whose state is not known."""
    states = []
    for layer in layers(env):
        name = type(layer).__name__
        if not type(layer).__module__.startswith("gymnasium."):
            return name
        if name == "TimeLimit":
            states.append({"elapsed": layer._elapsed_steps})
        elif name == "AtariPreprocessing":
            buffers = [encode(b) for b in layer.obs_buffer]
            states.append({"buffers": buffers, "lives": int(layer.lives), "game_over": bool(layer.game_over)})
        elif name == "FrameStackObservation":
            states.append({"frames": [encode(f) for f in layer.obs_queue]})
        elif name in STATELESS:
            states.append({})
        else:
            return name
    return states


def set_wrapper_state(env, states):
    found = list(layers(env))
    if len(found) != len(states):
        raise Refused(f"the snapshot has {len(states)} wrappers, the environment {len(found)}")
    for layer, state in zip(found, states):
        name = type(layer).__name__
        if name == "TimeLimit":
            layer._elapsed_steps = state["elapsed"]
        elif name == "AtariPreprocessing":
            for buffer, stored in zip(layer.obs_buffer, state["buffers"]):
                buffer[...] = decode(stored, buffer.dtype, buffer.shape)
            layer.lives, layer.game_over = state["lives"], state["game_over"]
        elif name == "FrameStackObservation":
            inner = layer.env.observation_space
            layer.obs_queue.extend(decode(f, inner.dtype, inner.shape) for f in state["frames"])


def highway_vehicles(env):
    """Returns the vehicles if the environment is a highway whose state the bridge knows, else None."""
    highway = sys.modules.get("highway_env.envs.highway_env")
    base = env.unwrapped
    if highway is None or type(base) not in (highway.HighwayEnv, highway.HighwayEnvFast):
        return None
    from highway_env.vehicle.behavior import IDMVehicle
    from highway_env.vehicle.controller import MDPVehicle

    vehicles = base.road.vehicles
    if type(vehicles[0]) is not MDPVehicle or any(type(v) is not IDMVehicle for v in vehicles[1:]):
        return None
    return vehicles


def step_limit(env):
    """The least of its time limits, or 0 where it has none."""
    limits = (getattr(layer, "_max_episode_steps", None) for layer in layers(env))
    return min((n for n in limits if isinstance(n, int)), default=0)


def snapshot_kind(env):
    if isinstance(wrapper_state(env), list):
        if hasattr(env.unwrapped, "ale"):
            return "ale"
        if highway_vehicles(env) is not None:
            return "highway"
    return "replay"


def take(slot, actions):
    env, base = slot.env, slot.env.unwrapped
    kind = snapshot_kind(env)
    if kind == "replay":
        if hasattr(base, "ale"):
            raise Refused(f"the state of its wrapper {wrapper_state(env)} is not known")
        if slot.start is None:
            raise Refused("no replay leads to it, as its episode began without a seed or in the middle; "
                          "reset it with a seed")
        return {"kind": "replay", "start": slot.start, "actions": actions, "seed": slot.seed}
    state = {"kind": kind, "wrappers": wrapper_state(env), "rng": base.np_random.bit_generator.state, "seed": slot.seed}
    if kind == "ale":
        state["ale"] = base64.b64encode(base.ale.cloneState(include_rng=True).serialize()).decode()
        return state
    state["highway"] = {
        "vehicles": [
            {
                "x": float(v.position[0]),
                "y": float(v.position[1]),
                "heading": float(v.heading),
                "speed": float(v.speed),
                "target_lane": int(v.target_lane_index[2]),
                "target_speed": float(v.target_speed),
                "steering": float(v.action["steering"]),
                "acceleration": float(v.action["acceleration"]),
                "crashed": bool(v.crashed),
                "impact": None if v.impact is None else [float(x) for x in v.impact],
                "timer": float(getattr(v, "timer", 0)),
                "exponent": float(getattr(v, "DELTA", 0)),
            }
            for v in base.road.vehicles
        ],
        "speed_index": int(base.vehicle.speed_index),
        "time": float(base.time),
        "steps": int(base.steps),
    }
    return state


def restore_replay(slot, state, now):
    base, start = slot.env.unwrapped, state["start"]
    if "seed" in start:
        observation = slot.reset(start["seed"], now)
    else:
        base.np_random.bit_generator.state = start["rng"]
        observation = slot.reset(None, now)
    for k, action in enumerate(state["actions"]):
        observation, _, ended, cut, _ = slot.env.step(action)
        if ended or cut:
            raise RuntimeError(f"replaying its actions ended the episode at step {k}: "
                               "the environment is not deterministic")
    slot.actions = list(state["actions"])
    slot.seed = state["seed"]
    return np.asarray(observation, slot.env.observation_space.dtype)


def prepare(slot, state, now):
    """Sets what snapshots of a known state have in common: episode, random generator, wrappers."""
    if slot.start is None:
        slot.reset(None, now)
    base = slot.env.unwrapped
    if state.get("rng") is not None:
        base.np_random.bit_generator.state = state["rng"]
    if state.get("wrappers") is not None:
        set_wrapper_state(slot.env, state["wrappers"])
    else:
        for layer in layers(slot.env):
            if type(layer).__name__ == "TimeLimit":
                layer._elapsed_steps = 0
    slot.seed = state.get("seed", slot.seed)
    return base


def restore_ale(slot, state, now):
    from ale_py import ALEState

    if not hasattr(slot.env.unwrapped, "ale"):
        raise Refused("the snapshot is of an Atari game, the environment is not")
    base = prepare(slot, state, now)
    base.ale.restoreState(ALEState(base64.b64decode(state["ale"])))


def restore_highway(slot, state, now):
    if slot.start is None:
        slot.reset(None, now)
    vehicles, given = highway_vehicles(slot.env), state["highway"]
    if vehicles is None:
        raise Refused("the snapshot is of a highway, the environment is not one whose state can be set")
    if len(vehicles) != len(given["vehicles"]):
        raise Refused(f"the snapshot has {len(given['vehicles'])} vehicles, the environment {len(vehicles)}")
    base = prepare(slot, state, now)
    lanes = base.config["lanes_count"]
    for k, v in enumerate(given["vehicles"]):
        if not 0 <= v["target_lane"] < lanes:
            raise Refused(f"vehicle {k} of the snapshot heads for lane {v['target_lane']} of {lanes}")
    for vehicle, v in zip(vehicles, given["vehicles"]):
        vehicle.position = np.array([v["x"], v["y"]], np.float64)
        vehicle.heading, vehicle.speed = np.float64(v["heading"]), np.float64(v["speed"])
        vehicle.target_lane_index = (*vehicle.target_lane_index[:2], v["target_lane"])
        vehicle.target_speed = np.float64(v["target_speed"])
        vehicle.action = {"steering": v["steering"], "acceleration": v["acceleration"]}
        vehicle.crashed = v["crashed"]
        vehicle.impact = None if v["impact"] is None else np.array(v["impact"], np.float64)
        vehicle.on_state_update()  # the lane follows from where it is
    for vehicle, v in zip(vehicles[1:], given["vehicles"][1:]):
        vehicle.timer, vehicle.DELTA = np.float64(v["timer"]), np.float64(v["exponent"])
    vehicles[0].speed_index = np.int64(given["speed_index"])
    base.time, base.steps, base.done = given["time"], given["steps"], False
    if state.get("observation") is None:
        return observe_through(slot.env, base.observation_type.observe())


def observe_through(env, observation):
    """Passes an observation of the bare environment through its wrappers."""
    for layer in reversed(list(layers(env))):
        if hasattr(layer, "observation"):
            observation = layer.observation(observation)
    return np.asarray(observation)


def restore_lunar(slot, state, now):
    """Sets Lunar Lander to what an observation tells, which leaves out the legs' own motion and the ground's shape."""
    if type(slot.env.unwrapped).__name__ != "LunarLander":
        raise Refused("the state is of Lunar Lander, the environment is another")
    if any(type(layer).__name__ not in STATELESS | {"TimeLimit"} for layer in layers(slot.env)):
        raise Refused("a state of Lunar Lander cannot be given through a wrapper that remembers")
    from gymnasium.envs.box2d import lunar_lander as ll

    slot.reset(None, now)
    base = prepare(slot, state, now)
    x, y, vx, vy, angle, spin, left, right = state["lunar"]
    half_width, half_height = ll.VIEWPORT_W / ll.SCALE / 2, ll.VIEWPORT_H / ll.SCALE / 2
    lander = base.lander
    # Box2D keeps the forces of the reset until a step uses them up.
    base.world.ClearForces()
    lander.position = (x * half_width + half_width, y * half_height + base.helipad_y + ll.LEG_DOWN / ll.SCALE)
    lander.angle = angle
    lander.linearVelocity = (vx * ll.FPS / half_width, vy * ll.FPS / half_height)
    lander.angularVelocity = spin * ll.FPS / 20.0
    for side, leg, contact in zip((-1, 1), base.legs, (left, right)):
        leg.angle = angle - side * LEG_ANGLE
        arm = leg.GetWorldVector((side * ll.LEG_AWAY / ll.SCALE, ll.LEG_DOWN / ll.SCALE))
        leg.position = lander.position - arm
        leg.angularVelocity = lander.angularVelocity
        # A leg turns with the lander about the joint, which is at the lander's origin.
        leg.linearVelocity = lander.GetLinearVelocityFromWorldPoint(leg.worldCenter)
        leg.ground_contact = bool(contact)
        leg.awake = True
    lander.awake = True
    base.game_over = False
    base.prev_shaping = (
        -100 * np.sqrt(x * x + y * y) - 100 * np.sqrt(vx * vx + vy * vy) - 100 * abs(angle) + 10 * left + 10 * right
    )
    slot.start = None  # from here, no replay leads back
    return observe_through(slot.env, np.array(state["lunar"], np.float32))


LEG_ANGLE = 0.36  # how far the springs hold the legs from the lander's axis in flight, in radians

RESTORE = {"replay": restore_replay, "ale": restore_ale, "highway": restore_highway, "lunar": restore_lunar}
