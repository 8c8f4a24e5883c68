// Draws the API reference from this host's own document, and signs what is sent from it.
import { signedHeaders } from "./cqe-client.js";

const form = document.getElementById("pair");
const state = document.getElementById("state");
// Kept in memory only.
let pair = null;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!globalThis.crypto?.subtle) {
    state.textContent = "Browsers sign on https:// and on localhost only: open this page there.";
    return;
  }
  const { apiKey, secret } = form.elements;
  pair = { apiKey: apiKey.value.trim(), secret: secret.value.trim() };
  secret.value = "";
  state.textContent = `Requests are signed with ${pair.apiKey.slice(0, 9)}…`;
});

form.addEventListener("reset", () => {
  pair = null;
  state.textContent = "No key: requests are sent unsigned and refused.";
});

async function sign(request) {
  const url = new URL(request.url, location.href);
  if (request.loadSpec || pair === null || url.origin !== location.origin) return request;
  const target = url.pathname + url.search;
  const nonce = request.headers["X-Nonce"];
  const signed = await signedHeaders(
    pair.apiKey, pair.secret, request.method.toUpperCase(), target, request.body ?? "", { nonce },
  );
  Object.assign(request.headers, signed);
  return request;
}

// The form above takes the place of Swagger UI's own dialogue, which cannot sign.
const withoutAuthorize = () => ({
  wrapComponents: { authorizeBtn: () => () => null, authorizeOperationBtn: () => () => null },
});

window.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  plugins: [withoutAuthorize],
  requestInterceptor: sign,
  validatorUrl: null,
});
