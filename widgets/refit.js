(() => {
  const {ID, address, demos, state: first} = START;
  const root = document.getElementById(ID);
  const comm = globalThis.gonb_comm;
  if (!root || !comm) return;
  const find = (name) => root.querySelector(`[name="${name}"]`);
  const choice = comm.newSyncedVariable(address, "");
  let state = first;
  const send = () => {
    root.querySelectorAll("[data-state]").forEach((b) => {
      const here = demos.filter((d) => d.State === +b.dataset.state).length;
      b.style.outline = +b.dataset.state === state ? "3px solid #d55e00" : "none";
      b.textContent = b.title + (here ? " ×" + here : "");
    });
    choice.set(JSON.stringify({PriorMean: +find("prior-mean").value, PriorStd: +find("prior-std").value,
      Beta: +find("beta").value, State: state, Demonstrations: demos}));
  };
  root.querySelectorAll("input").forEach((e) => e.addEventListener("change", send));
  root.querySelectorAll("[data-state]").forEach((b) => b.addEventListener("click", () => { state = +b.dataset.state; send(); }));
  root.querySelectorAll("[data-action]").forEach((b) => b.addEventListener("click", () => { demos.push({State: state, Action: +b.dataset.action}); send(); }));
  find("undo").addEventListener("click", () => { demos.pop(); send(); });
  send();
})();
