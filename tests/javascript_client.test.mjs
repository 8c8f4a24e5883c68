// Tests of the JavaScript client; tests/api/test_javascript_client.py starts the service for them.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";

const { CLIENT, BASE, API_KEY, SECRET, VECTORS, WEBHOOK } = process.env;
const { ApiError, Client, CqeError, InvalidWebhook, WaitTimeout, signedHeaders, verifyWebhook } =
  await import(CLIENT);
const client = new Client(BASE, API_KEY, SECRET);

async function collect(items) {
  const collected = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** Run `use` with a client of a server that gives these answers, and return its requests. */
async function withAnswers(answers, use) {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push({ ...request.headers, at: Date.now() });
    const answer = answers[Math.min(requests.length, answers.length) - 1];
    if (answer === null) request.socket.destroy();
    else response.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(new Client(`http://127.0.0.1:${server.address().port}`, API_KEY, SECRET));
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return requests;
}

test("every vector gives its signature", async () => {
  const { key, secret, vectors } = JSON.parse(VECTORS);
  assert.ok(vectors.length > 3);
  for (const { method, target, body, timestamp, nonce, signature } of vectors) {
    const headers = await signedHeaders(key, secret, method, target, body, { timestamp, nonce });
    assert.equal(headers["X-Signature"], signature);
    assert.equal(headers["X-Nonce"] ?? "", nonce);
  }
});

test("each method is signed as it is sent", async () => {
  const made = await client.post("/engagements", { name: "Zoë ☕ %2f/?", type: "qa" });
  const path = `/engagements/${made.id}`;
  assert.deepEqual(await client.get(path), made);
  assert.equal((await client.patch(path, { status: "completed" })).status, "completed");
  const campaign = { name: "50% + ☕", type: "sales" };
  const { externalId, id } = await client.put("/imports/campaigns/a%20b é", campaign);
  assert.equal(externalId, "a b é");
  const filters = { q: "0% + ☕", type: ["support", "sales"], status: undefined };
  assert.deepEqual((await collect(client.iterate("/campaigns", filters))).map((c) => c.id), [id]);
  const key = await client.post("/api-keys", { name: "reader", scopes: ["usage:read"] });
  assert.equal(await client.delete(`/api-keys/${key.id}`), null);
  assert.equal((await client.get("/usage/summary")).usage.webhooks.used, 0);
});

test("lists are read page after page", async () => {
  for (const name of ["A", "B", "C", "D", "E"]) {
    await client.post("/engagements", { name: `Page ${name}`, type: "qa" });
  }
  const found = await collect(client.iterate("/engagements", { pageSize: 2, sort: "createdAt" }));
  const names = found.map(({ name }) => name).filter((name) => name.startsWith("Page"));
  assert.equal(names.join(), "Page A,Page B,Page C,Page D,Page E");
});

test("an error carries what the service says", async () => {
  await assert.rejects(client.post("/engagements", { name: "", type: "qa" }), (error) => {
    assert.ok(error instanceof ApiError && error instanceof CqeError);
    assert.deepEqual([error.status, error.code], [422, "VALIDATION_ERROR"]);
    assert.equal(error.details[0].field, "name");
    assert.match(error.message, /request req_\w+\)\n {2}name: \w/);
    return true;
  });
  const wrong = new Client(BASE, API_KEY, "cqes_wrong");
  const shown = { code: "INVALID_SIGNATURE", message: /"path":"\/api\/v1\/usage\/summary"/ };
  await assert.rejects(wrong.get("/usage/summary"), shown);
});

test("a recording is uploaded and waited for", async () => {
  const recording = new Blob(["RIFF"], { type: "audio/wav" });
  const audioFileId = await client.upload(recording, { fileName: "call.wav" });
  assert.equal((await client.get(`/audio-files/${audioFileId}`)).status, "uploaded");
  const seen = [];
  const onProgress = (status) => seen.push(status.status);
  await assert.rejects(client.wait(audioFileId, { onProgress, timeoutMs: 1 }), WaitTimeout);
  assert.deepEqual(seen, ["uploaded"]);
});

test("both sides of a call are uploaded", async () => {
  const [agent, customer] = ["RIFF", "RIFF-"].map((text) => new Blob([text], { type: "audio/wav" }));
  const sides = {
    agent: { recordedAt: "2026-11-21T09:00:02Z" },
    customer: { recordedAt: "2026-11-21T09:00:00Z" },
  };
  const audioFileId = await client.uploadPair(agent, customer, { fileName: "call.wav", sides });
  const { status, sizeBytes, recordedAt, expiresAt } = await client.get(
    `/audio-files/${audioFileId}`,
  );
  // Without an end of its uploads both have arrived, and wait to be joined.
  assert.deepEqual([status, sizeBytes, expiresAt], ["pending_upload", 9, null]);
  assert.equal(recordedAt, "2026-11-21T09:00:00.000Z");
});

test("a file of conversations is uploaded to be imported", async () => {
  const line = { externalId: "chat-1", messages: [{ role: "customer", text: "Where is it? ☕" }] };
  const file = new Blob([JSON.stringify(line)]);
  const importId = await client.importFile(file, { fileName: "chats.jsonl", dryRun: true });
  const { status, dryRun } = await client.get(`/imports/${importId}`);
  assert.deepEqual([status, dryRun], ["queued", true]);
});

test("an upload may take longer than other requests", async () => {
  const server = createServer((request, response) => {
    const uploadUrl = `http://${request.headers.host}/upload`;
    const data = { importId: "imp_1", uploadUrl, method: "PUT", headers: {} };
    const isUpload = request.method === "PUT";
    setTimeout(() => response.writeHead(201).end(JSON.stringify({ data })), isUpload ? 1500 : 0);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  const hasty = new Client(url, API_KEY, SECRET, { timeoutMs: 1000 });
  try {
    assert.equal(await hasty.importFile(new Blob(["{}"]), { fileName: "chats.jsonl" }), "imp_1");
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("an overloaded service is asked again", async () => {
  const busy = { status: 503, headers: { "Retry-After": "1" }, body: {} };
  const done = { status: 201, body: { data: { id: "eng_1" } } };
  const [first, second] = await withAnswers([busy, done], async (unlucky) => {
    assert.deepEqual(await unlucky.post("/engagements", { name: "A" }), { id: "eng_1" });
  });
  assert.equal(first["idempotency-key"], second["idempotency-key"]);
  assert.notEqual(first["x-nonce"], second["x-nonce"]);
  assert.ok(second.at - first.at >= 1000);
});

test("a refused connection is one sentence", async () => {
  const nobody = new Client("http://127.0.0.1:1", API_KEY, SECRET, { retries: 0 });
  const said = /^There was no answer from 127.0.0.1:1: [^\n]+\.$/;
  await assert.rejects(nobody.get("/usage/summary"), (error) => said.test(error.message) && !error.cause);
});

test("a lost answer is asked for again, a long wait is left to the caller", async () => {
  const found = { status: 200, body: { data: 1 } };
  const lost = await withAnswers([null, found], async (unlucky) => {
    assert.equal(await unlucky.get("/usage/summary"), 1);
  });
  assert.equal(lost.length, 2);
  const deleted = await withAnswers([null], async (unlucky) => {
    await assert.rejects(unlucky.delete("/webhooks/wh_1"), /There was no answer from 127/);
  });
  assert.equal(deleted.length, 1);
  const limited = { status: 429, headers: { "Retry-After": "120" }, body: {} };
  await withAnswers([limited], (unlucky) =>
    assert.rejects(unlucky.get("/usage/summary"), { status: 429 }),
  );
});

test("webhooks of the service are verified, and no others", async () => {
  const { secret, body, headers, now } = JSON.parse(WEBHOOK);
  const event = await verifyWebhook(secret, body, headers, { now: now + 299 });
  assert.equal(event.id, "evt_1");
  const rotated = { ...headers, "Webhook-Signature": `v1,AAAA ${headers["Webhook-Signature"]}` };
  assert.equal((await verifyWebhook(secret, body, rotated, { now })).id, "evt_1");
  const refused = [
    [secret, "{}", headers, now],
    ["whsec_AAAA", body, headers, now],
    ["whsec_!", body, headers, now],
    [secret, body, { ...headers, "Webhook-Id": "evt_2" }, now],
    [secret, body, { ...headers, "Webhook-Signature": "" }, now],
    [secret, body, { ...headers, "Webhook-Timestamp": "" }, now],
    [secret, body, headers, now + 301],
    [secret, body, headers, now - 301],
  ];
  for (const [key, content, sent, time] of refused) {
    await assert.rejects(verifyWebhook(key, content, sent, { now: time }), InvalidWebhook);
  }
});
