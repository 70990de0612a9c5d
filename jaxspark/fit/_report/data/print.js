"use strict";
// On paper nothing can be unfolded.
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((details) => { details.open = true; });
});
window.addEventListener("afterprint", () => {
  folded.forEach((details) => { details.open = false; });
});
