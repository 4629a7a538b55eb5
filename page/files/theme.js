// Sets the theme that was chosen before anything is drawn. It is no module: modules
// run after the first paint.
document.documentElement.classList.add("js");
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be switched off: the theme of the system stays.
}
