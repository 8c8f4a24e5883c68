// A sheet to print: its button opens the dialog of the browser.

document.getElementById("print").addEventListener("click", () => print());
