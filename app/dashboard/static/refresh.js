// Parts of a page that stay current: one with data-refresh and an id is taken from the page as it is now
// when work in it has ended, with data-refresh="always" at each progress. What was typed elsewhere stays.

export function refresh() {
  // This parses the page without a script: the policy lets no text become markup.
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.responseType = "document";
  request.onload = () => {
    for (const part of document.querySelectorAll("[data-refresh]")) {
      const newer = request.response?.getElementById(part.id);
      const isSame = newer?.textContent === part.textContent;
      if (newer && !isSame && !part.matches(":active, :focus-within")) part.replaceWith(newer);
    }
  };
  request.send();
}

document.addEventListener("progress", () => {
  if (document.querySelector("[data-refresh=always], [data-refresh] [data-ended]")) refresh();
});
