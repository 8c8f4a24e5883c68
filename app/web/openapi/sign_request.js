// Postman runs this before each request, with `pm` and CryptoJS at hand.
// In a block, because the sandbox has names such as `request` of its own.
{
  const crypto = require("crypto-js");
  const timestamp = String(Math.floor(Date.now() / 1000));
  const nonce = crypto.lib.WordArray.random(16).toString();
  const { request } = pm;
  // Encoded here, so that what is signed is what is sent; Postman leaves encoded characters alone.
  const path = pm.variables.replaceIn(request.url.getPathWithQuery());
  const target = encodeURI(path).replace(/%25/g, "%").replace(/'/g, "%27");
  request.url.update(pm.variables.get("base") + target);
  const body = request.body && request.body.raw ? pm.variables.replaceIn(request.body.raw) : "";
  const digest = crypto.SHA256(body).toString();
  const lines = ["CQE1-HMAC-SHA256", timestamp, nonce, request.method, target, digest].join("\n");
  const signature = crypto.HmacSHA256(lines, pm.variables.get("secret")).toString();
  request.headers.upsert({ key: "X-Api-Key", value: pm.variables.get("apiKey") });
  request.headers.upsert({ key: "X-Timestamp", value: timestamp });
  request.headers.upsert({ key: "X-Nonce", value: nonce });
  request.headers.upsert({ key: "X-Signature", value: signature });
}
