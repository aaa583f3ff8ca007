// The list of claims: rows that match all of the form stay; the address keeps what was chosen.
const form = document.getElementById("filter");
const rows = [...document.querySelectorAll("table.claims tbody tr")];
// Statements spell Greek letters out.
const GREEK = { α: "alpha", β: "beta", γ: "gamma", δ: "delta", ε: "epsilon", ϵ: "epsilon", ζ: "zeta", η: "eta", θ: "theta", κ: "kappa",
  λ: "lambda", μ: "mu", ν: "nu", ξ: "xi", π: "pi", ρ: "rho", σ: "sigma", ς: "sigma", τ: "tau", φ: "phi", ϕ: "phi", χ: "chi",
  ψ: "psi", ω: "omega" };
const plain = (text) => text.toLowerCase().replace(/\p{Script=Greek}/gu, (letter) => GREEK[letter] ?? letter);
const texts = rows.map((row) => plain(`${row.textContent} ${row.dataset.words}`));
const number = document.getElementById("number");

function show() {
  const { q, paper, verdict, check } = Object.fromEntries(new FormData(form));
  const words = plain(q).split(/\s+/);
  let shown = 0;
  rows.forEach((row, k) => {
    const { paper: ofPaper, verdict: withVerdict, check: checks } = row.dataset;
    const fits = (!paper || paper === ofPaper) && (!verdict || verdict === withVerdict) &&
      (!check || checks.split(" ").includes(check)) && words.every((word) => texts[k].includes(word));
    row.hidden = !fits;
    shown += fits;
  });
  number.textContent = shown === rows.length ? `${shown} claims` : `${shown} of ${rows.length} claims`;
}

function remember() {
  const chosen = [...new FormData(form)].filter(([, value]) => value);
  history.replaceState(null, "", chosen.length ? `?${new URLSearchParams(chosen)}` : location.pathname);
  show();
}

for (const [name, value] of new URLSearchParams(location.search)) {
  if (form.elements[name]) form.elements[name].value = value;
}
form.addEventListener("input", remember);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(remember)); // after the form is empty
show();
