// The list of claims: rows that match all of the form stay, exact names first; the address keeps what was chosen.
const form = document.getElementById("filter");
const list = document.querySelector("table.claims tbody");
const rows = [...list.rows];
// What is spelt out in statements or in LaTeX, and signs, each in one way.
const WORDS = { alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", eps: "ε", varepsilon: "ε", zeta: "ζ", eta: "η",
  theta: "θ", kappa: "κ", lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ", phi: "φ",
  varphi: "φ", chi: "χ", psi: "ψ", omega: "ω", nabla: "grad ", leq: "<=", geq: ">=", infty: "inf" };
const SIGNS = { "≤": "<=", "⩽": "<=", "≥": ">=", "⩾": ">=", "∇": "grad ", "√": "sqrt", "∑": "sum", "∞": "inf", "−": "-", "ς": "σ",
  "‖": "|", "∥": "|", "||": "|", "**": "^" };
const plain = (text) => text
  .replace(/[²³¹⁰-ⁿ]+/g, "^$&").replace(/[₀-ₜᵢ-ᵥⱼ]+/g, "_$&").normalize("NFKC").toLowerCase()
  .replace(/[{}\\]/g, "").replace(/[a-z]+/g, (word) => WORDS[word] ?? word)
  .replace(/[≤⩽≥⩾∇√∑∞−ς‖∥]|\|\||\*\*/g, (sign) => SIGNS[sign]).replace(/sqrt *\(/g, "sqrt").replace(/grad +/g, "grad ");
// As written too, so that the beginning of a letter's name finds it.
const cells = rows.map((row) => [...row.cells].map((cell) => cell.textContent));
const texts = rows.map((row, k) => [...cells[k], row.dataset.words].join(" "))
  .map((text) => `${text.toLowerCase()} ${plain(text)}`);
const phrase = (text) => ` ${plain(text).replace(/[^\p{L}\p{N}.^_]+/gu, " ").trim()} `;
const names = cells.map((own) => own.slice(0, 3).map(phrase)); // id, title, where
const number = document.getElementById("number");

function show() {
  const { q, paper, verdict, check } = Object.fromEntries(new FormData(form));
  const words = q.trim().split(/\s+/).map(plain);
  let shown = 0;
  rows.forEach((row, k) => {
    const { paper: ofPaper, verdict: withVerdict, check: checks } = row.dataset;
    const fits = (!paper || paper === ofPaper) && (!verdict || verdict === withVerdict) &&
      (!check || checks.split(" ").includes(check)) && words.every((word) => texts[k].includes(word));
    row.hidden = !fits;
    shown += fits;
  });
  const sought = phrase(q);
  const rank = (own) => (sought.trim() ? own.includes(sought) + own.some((name) => name.includes(sought)) : 0);
  const ranks = new Map(rows.map((row, k) => [row, rank(names[k])]));
  list.append(...[...rows].sort((a, b) => ranks.get(b) - ranks.get(a)));
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
