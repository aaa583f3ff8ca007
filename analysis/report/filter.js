// The list of claims: rows that match all of the form stay, exact names first; the address keeps what was chosen.
const form = document.getElementById("filter");
form.hidden = false; // without this script it would do nothing
const list = document.querySelector("table.claims tbody");
const rows = [...list.rows];
// What is spelt out in statements or in LaTeX, and signs, each in one way.
const WORDS = { alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", eps: "ε", varepsilon: "ε", zeta: "ζ", eta: "η",
  theta: "θ", kappa: "κ", lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ", phi: "φ",
  varphi: "φ", chi: "χ", psi: "ψ", omega: "ω", nabla: "grad ", leq: "<=", geq: ">=", infty: "inf" };
const SIGNS = { "≤": "<=", "⩽": "<=", "≥": ">=", "⩾": ">=", "∇": "grad", "√": "sqrt", "∑": "sum", "Σ": "sum", "∞": "inf", "−": "-",
  "ς": "σ", "⁄": "/", "‖": "|", "∥": "|", "||": "|", "**": "^", "→": " to " };
const KINDS = { thm: "theorem", lem: "lemma", cor: "corollary", prop: "proposition" };
const lower = (text) => text.replace(/\p{Script=Latin}+/gu, (word) => word.toLowerCase()); // Σ is no σ
const command = (name) => {
  const letter = WORDS[name.toLowerCase()] ?? "";
  return /^[A-Z]/.test(name) && /^\p{L}$/u.test(letter) ? letter.toUpperCase() : WORDS[name] ?? name;
};
const plain = (text) => lower(text.replace(/\\(?:left|right|math\w+|text) *(?![A-Za-z])/g, "").replace(/\\[dt]?frac *(\w) *(\w)/g, "$1/$2")
  .replace(/\\[dt]?frac *\{((?:[^{}]|\{[^{}]*\})*)\} *\{((?:[^{}]|\{[^{}]*\})*)\}/g, "$1/($2)")
  .replace(/\\le(?![A-Za-z])/g, "<=").replace(/\\ge(?![A-Za-z])/g, ">=").replace(/\\([A-Za-z]+)/g, (_, name) => command(name))
  .replace(/[²³¹⁰-ⁿ]+/g, "^$&").replace(/[₀-ₜᵢ-ᵥⱼ]+/g, "_$&").normalize("NFKC"))
  .replace(/[{}\\]/g, "").replace(/[a-z]+/g, (word) => WORDS[word] ?? word)
  .replace(/[≤⩽≥⩾∇√∑Σ∞−ς⁄‖∥→]|\|\||\*\*/g, (sign) => SIGNS[sign]).replace(/sqrt *\(/g, "sqrt").replace(/grad +/g, "grad")
  .replace(/ *([<>]=?|[-=+|\/]) */g, "$1").replace(/_(?=\d)/g, "") // q = 1 is q=1, x_0 is x0
  .replace(/(?<![a-z])(thm|theorem|lem|lemma|cor|corollary|prop|proposition)\.? *(?=([a-z]\.?)?\d)/g,
    (_, kind) => KINDS[kind] ?? kind);
// As written too, so that the beginning of a letter's name finds it.
const cells = rows.map((row) => [...row.cells].map((cell) => cell.textContent));
const texts = rows.map((row, k) => [...cells[k], row.dataset.words].join(" "))
  .map((text) => `${lower(text)} ${plain(text)}`.replace(/\s+/g, " "));
const isFormula = (word) => /^\d+[*·]?\p{L}|[/(]/u.test(word) && /[\p{L}\d]/u.test(word) && !/^\(\d+\)$/.test(word);
const literal = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
const loose = (text) => literal(text).replace(/(?<=\p{L}{2})-(?=\p{L}{2})/gu, "[- ]?"); // non-convex, step-size
// A bracket that has no partner in a word belongs to a remark of several words.
const unbracketed = (word) => word.split("(").length === word.split(")").length ? word : word.replace(/^\(|\)$/g, "");
// A relation is found as a whole: q=1 is not in q=10, q=1/2 or seq=1. A number begins where it does: 8 is not in 48.
// Factors of formulas may stand apart, and denominators without brackets: 1/(8KL) is 1/8 K L, and not 1/8 knows.
const APART = "[()*· ]*";
const finder = (word) => {
  const formula = isFormula(word);
  const relation = /[<>=]/.test(word);
  let from = /^\d/.test(word) ? "(?<!\\d)" : "";
  if (relation && /^[\p{L}\p{N}]/u.test(word)) from = "(?<![\\p{L}\\p{N}_^])";
  const to = relation && /\d$/.test(word) ? "(?![\\d/^]|\\.\\d)" : "";
  const signs = word.replace(/[()*· ]/g, ""), end = /[a-z]$/.test(signs) ? "(?![a-z]{2})" : to;
  const alone = /(?<![a-z])[a-z]$/.test(word) ? end : ""; // 1/p is not in 1/probability; 1/sq may become 1/sqrt
  const pattern = new RegExp(from + (formula ? `(?:${literal(word)}${alone}|${[...signs].map(literal).join(APART)}${end})` : loose(word) + to), "u");
  return (text) => pattern.test(text);
};
const phrase = (text) => ` ${plain(text).replace(/[^\p{L}\p{N}.^_]+/gu, " ").trim()} `;
const names = cells.map((own) => own.slice(0, 3).map(phrase)); // id, title, where
const number = document.getElementById("number");

// What stands in quotes, whatever they look like, is found as it is: these words, in this order.
const asked = (text) => plain(text.replace(/[“”„«»]/g, '"').replace(/[‘’]/g, "'").replace(/(?<!\S)'([^']+)'(?!\S)/g, '"$1"'))
  .replace(/stepsize/g, "step-size").replace(/\$/g, "").replace(/(?<![\w.])eqs?(?:\.| ) *\(?(\d+)\)?/g, "($1)") // Eq. 15 is (15)
  .replace(/\/ *\([^()"]*\)/g, (below) => below.replace(/ /g, "")) // a denominator is one word
  .replace(/\s+/g, " ").match(/"[^"]+"|[^ "]+/g)?.map((part) => unbracketed(part.replace(/"/g, "").replace(/[.,;:?!]+$/, "").trim())).filter(Boolean) ?? [];

function show() {
  const { q, paper, verdict, check } = Object.fromEntries(new FormData(form));
  const words = asked(q).map(finder);
  let shown = 0;
  rows.forEach((row, k) => {
    const { paper: ofPaper, verdict: withVerdict, check: checks } = row.dataset;
    const fits = (!paper || paper === ofPaper) && (!verdict || verdict === withVerdict) &&
      (!check || checks.split(" ").includes(check)) && words.every((has) => has(texts[k]));
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
