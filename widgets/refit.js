(() => {
  const root = document.getElementById("{{.ID}}");
  const comm = globalThis.gonb_comm;
  if (!root || !comm) return;
  const find = (name) => root.querySelector(`[name="${name}"]`);
  const choice = comm.newSyncedVariable("{{.Address}}", "");
  const demos = {{.Demos}};
  let state = {{.State}};
  const send = () => {
    root.querySelectorAll("[data-state]").forEach((b) => {
      const here = demos.filter((d) => d[0] === +b.dataset.state).length;
      b.style.outline = +b.dataset.state === state ? "3px solid #d55e00" : "none";
      b.textContent = b.title + (here ? " ×" + here : "");
    });
    choice.set(JSON.stringify({prior_mean: +find("prior-mean").value, prior_std: +find("prior-std").value,
      beta: +find("beta").value, state: state, demonstrations: demos}));
  };
  root.querySelectorAll("input").forEach((e) => e.addEventListener("change", send));
  root.querySelectorAll("[data-state]").forEach((b) => b.addEventListener("click", () => { state = +b.dataset.state; send(); }));
  root.querySelectorAll("[data-action]").forEach((b) => b.addEventListener("click", () => { demos.push([state, +b.dataset.action]); send(); }));
  find("undo").addEventListener("click", () => { demos.pop(); send(); });
  send();
})();
