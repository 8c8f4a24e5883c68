// Client of CQE for Node 18 and later and for browsers: signed requests, paging, retries, uploads
// and webhooks.

// Node 18 has no global `crypto`.
const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

const SCHEME = "CQE1-HMAC-SHA256";
const RETRIED_STATUSES = new Set([429, 502, 503, 504]);
// After a lost answer, a repeated DELETE finds nothing and a repeated PATCH may undo a later change.
const NOT_REPEATED = new Set(["PATCH", "DELETE"]);
const LONGEST_WAIT_MS = 60_000;
const HMAC = { name: "HMAC", hash: "SHA-256" };

/** Base of the client's errors. */
export class CqeError extends Error {
  name = this.constructor.name;
}

/** The service refused a request, or could not answer it. */
export class ApiError extends CqeError {
  constructor(status, error = {}) {
    const lines = (error.details ?? []).map((detail) => {
      const { location, field, code, message, ...received } = detail;
      return `\n  ${field}: ${message ?? JSON.stringify(received)}`;
    });
    const message = error.message ?? `The answer was HTTP ${status}.`;
    const origin = `${status} ${error.code ?? ""}, request ${error.requestId ?? ""}`;
    super(`${message} (${origin})${lines.join("")}`);
    this.status = status;
    this.code = error.code ?? "";
    this.details = error.details ?? [];
    this.requestId = error.requestId ?? "";
    this.retryAfter = error.retryAfter ?? null;
  }
}

/** A recording could not be transcribed or evaluated; `status` is its processing status. */
export class ProcessingFailed extends CqeError {
  constructor(status) {
    const error = status.error ?? {
      code: status.status.toUpperCase(),
      message: `The recording is ${status.status}.`,
    };
    super(`${status.audioFileId}: ${error.message} (${error.code})`);
    this.status = status;
    this.code = error.code;
  }
}

/** A recording was not processed in time; its processing goes on. */
export class WaitTimeout extends CqeError {}

/** A request does not come from the service, or is too old. */
export class InvalidWebhook extends CqeError {}

/**
 * Return the headers that authenticate one request.
 *
 * @param {string} target path and query exactly as sent, without scheme and host
 * @param {string | Uint8Array} body
 * @param {{timestamp?: string, nonce?: string}} options by default the present time and a random
 *   nonce; an empty nonce is not sent
 */
export async function signedHeaders(apiKey, secret, method, target, body = "", options = {}) {
  const timestamp = options.timestamp ?? String(Math.floor(Date.now() / 1000));
  const nonce = options.nonce ?? randomId();
  const digest = hex(await crypto.subtle.digest("SHA-256", bytes(body)));
  const lines = [SCHEME, timestamp, nonce, method, target, digest].join("\n");
  const key = await crypto.subtle.importKey("raw", bytes(secret), HMAC, false, ["sign"]);
  const headers = {
    "X-Api-Key": apiKey,
    "X-Timestamp": timestamp,
    "X-Signature": hex(await crypto.subtle.sign("HMAC", key, bytes(lines))),
  };
  return nonce ? { ...headers, "X-Nonce": nonce } : headers;
}

/**
 * Return the event of a webhook whose signature is valid; otherwise throw InvalidWebhook.
 *
 * @param {string} signingSecret `whsec_…`, as shown when the subscription was made
 * @param {string | Uint8Array} body the body as received
 * @param {Headers | Record<string, string>} headers
 * @param {{toleranceSeconds?: number, now?: number}} options `now` is Unix time in seconds
 */
export async function verifyWebhook(signingSecret, body, headers, options = {}) {
  const { toleranceSeconds = 300, now = Date.now() / 1000 } = options;
  const received = new Headers(headers);
  const timestamp = received.get("webhook-timestamp") ?? "";
  if (!/^[0-9]+$/.test(timestamp)) {
    throw new InvalidWebhook("webhook-timestamp is missing or malformed.");
  }
  const secret = fromBase64(signingSecret.replace(/^whsec_/, ""));
  if (secret === null) {
    throw new InvalidWebhook("The signing secret must be the whole whsec_… string.");
  }
  const key = await crypto.subtle.importKey("raw", secret, HMAC, false, ["verify"]);
  const head = bytes(`${received.get("webhook-id") ?? ""}.${timestamp}.`);
  const signed = new Uint8Array([...head, ...bytes(body)]);
  // During a rotation there are two signatures, separated by a space.
  const signatures = (received.get("webhook-signature") ?? "").split(" ");
  const matches = await Promise.all(
    signatures.map((signature) => {
      const expected = signature.startsWith("v1,") ? fromBase64(signature.slice(3)) : null;
      // `verify` compares in constant time.
      return expected !== null && crypto.subtle.verify("HMAC", key, expected, signed);
    }),
  );
  if (!matches.includes(true)) {
    throw new InvalidWebhook("webhook-signature does not match: check the signing secret.");
  }
  if (Math.abs(now - Number(timestamp)) > toleranceSeconds) {
    throw new InvalidWebhook("webhook-timestamp is too far from this machine's clock.");
  }
  return JSON.parse(new TextDecoder().decode(bytes(body)));
}

/**
 * Sends signed requests to one service.
 *
 * Paths are relative to `/api/v1`; filters, fields and keys of answers have the API's names. A
 * request that was limited, or that met an overloaded service, is sent again after the time that
 * the service names; so is one whose answer was lost, except PATCH and DELETE. A POST carries an
 * Idempotency-Key and takes effect once.
 */
export class Client {
  #base;
  #apiKey;
  #secret;
  #timeoutMs;
  #retries;

  /**
   * @param {string} url the address of the service, without a path
   * @param {{timeoutMs?: number, retries?: number}} options `timeoutMs` is for each request but the
   *   upload of a file
   */
  constructor(url, apiKey, secret, { timeoutMs = 30_000, retries = 4 } = {}) {
    this.#base = `${url.replace(/\/+$/, "")}/api/v1`;
    this.#apiKey = apiKey;
    this.#secret = secret;
    this.#timeoutMs = timeoutMs;
    this.#retries = retries;
  }

  get(path, params = {}) {
    return this.request("GET", path, { params });
  }

  /** An `idempotencyKey` of your own outlives this program. */
  post(path, body, { idempotencyKey } = {}) {
    return this.request("POST", path, { body, idempotencyKey });
  }

  put(path, body) {
    return this.request("PUT", path, { body });
  }

  patch(path, body) {
    return this.request("PATCH", path, { body });
  }

  delete(path) {
    return this.request("DELETE", path);
  }

  /** Send a request and return the `data` of its answer, or the whole answer without `data`. */
  async request(method, path, { body, params = {}, idempotencyKey } = {}) {
    const headers = method === "POST" ? { "Idempotency-Key": idempotencyKey ?? randomId() } : {};
    const answer = await this.#answer(method, path, { body, params, headers });
    return answer?.data === undefined ? answer : answer.data;
  }

  /**
   * Yield the items of a list, fetching one page after the other.
   *
   * What is added meanwhile moves the items after it to later pages: with the newest first an item
   * may come twice, with `sort: "createdAt"` none does.
   */
  async *iterate(path, { page = 1, ...params } = {}) {
    for (let number = page; ; number += 1) {
      const answer = await this.#answer("GET", path, { params: { ...params, page: number } });
      yield* answer.data;
      // The list of engagements has these fields next to `data`.
      const { pageSize, totalCount } = answer.pagination ?? answer;
      if (number * pageSize >= totalCount) return;
    }
  }

  evaluations(filters = {}) {
    return this.iterate("/evaluations", filters);
  }

  evaluation(id) {
    return this.get(`/evaluations/${encodeURIComponent(id)}`);
  }

  results(id) {
    return this.get(`/evaluations/${encodeURIComponent(id)}/results`);
  }

  /**
   * Upload a recording and return its `audioFileId`.
   *
   * @param {Blob} recording a File has `fileName` and `contentType`; give them for another Blob
   * @param {object} fields fields of `POST /audio-files/upload-url`
   */
  async upload(recording, fields = {}) {
    const body = { fileName: recording.name, ...described(recording), ...fields };
    const reserved = await this.post("/audio-files/upload-url", body);
    await this.#sendFile(recording, reserved);
    return reserved.audioFileId;
  }

  /**
   * Upload both sides of a call, which a worker joins, and return its `audioFileId`.
   *
   * @param {Blob} agent a File has `fileName` and `contentType`; give them for another Blob
   * @param {Blob} customer the customer's side; each has one channel
   * @param {{sides?: {agent?: object, customer?: object}}} fields `sides` has fields of `agent` and
   *   `customer`, such as `recordedAt`, where it is known; others are those of
   *   `POST /audio-files/pairs`
   */
  async uploadPair(agent, customer, { sides = {}, ...fields } = {}) {
    const reserved = await this.post("/audio-files/pairs", {
      fileName: agent.name,
      ...fields,
      agent: { ...described(agent), ...sides.agent },
      customer: { ...described(customer), ...sides.customer },
    });
    await this.#sendFile(agent, reserved.agent);
    await this.#sendFile(customer, reserved.customer);
    return reserved.audioFileId;
  }

  /**
   * Upload a file of conversations, whose import then starts, and return its `importId`.
   *
   * @param {Blob} file a File has a `fileName`; give it for another Blob
   * @param {object} fields fields of `POST /imports/files/upload-url`
   */
  async importFile(file, fields = {}) {
    const body = { fileName: file.name, sizeBytes: file.size, ...fields };
    const reserved = await this.post("/imports/files/upload-url", body);
    await this.#sendFile(file, reserved);
    return reserved.importId;
  }

  /**
   * Wait until a recording is transcribed and evaluated, and return its processing status.
   *
   * @param {{onProgress?: Function, timeoutMs?: number, intervalMs?: number}} options
   *   `onProgress` is called with each processing status, the last one included
   */
  async wait(audioFileId, { onProgress, timeoutMs = 3_600_000, intervalMs = 1000 } = {}) {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const path = `/audio-files/${encodeURIComponent(audioFileId)}/processing-status`;
      const status = await this.get(path);
      onProgress?.(status);
      if (status.status === "processed") return status;
      if (status.status === "failed" || status.status === "expired") {
        throw new ProcessingFailed(status);
      }
      if (Date.now() + intervalMs > deadline) {
        throw new WaitTimeout(`${audioFileId} was not processed within ${timeoutMs} ms.`);
      }
      await sleep(intervalMs);
    }
  }

  /** Upload a recording, wait until it is evaluated, and return its last status. */
  async uploadAndWait(recording, { onProgress, timeoutMs, ...fields } = {}) {
    const audioFileId = await this.upload(recording, { autoProcess: true, ...fields });
    return this.wait(audioFileId, { onProgress, timeoutMs });
  }

  /** Send a file, for as long as that takes, by a signed link, which takes one upload. */
  #sendFile(file, { uploadUrl, method, headers }) {
    const options = { method, headers, body: file, signal: null };
    return this.#withRetries(() => this.#send(uploadUrl, options), false);
  }

  async #answer(method, path, { body, params, headers = {} }) {
    const query = String(new URLSearchParams(queryOf(params)));
    const url = new URL(`${this.#base}${path}${query && `?${query}`}`);
    const content = body === undefined ? "" : JSON.stringify(body);
    const send = async () => {
      // Signed again for each attempt: a nonce is accepted once.
      const target = url.pathname + url.search;
      const signed = await signedHeaders(this.#apiKey, this.#secret, method, target, content);
      const type = content ? { "Content-Type": "application/json" } : {};
      return this.#send(url, {
        method,
        headers: { ...headers, ...type, ...signed },
        body: content || undefined,
      });
    };
    const response = await this.#withRetries(send, !NOT_REPEATED.has(method));
    const text = await response.text();
    return text ? JSON.parse(text) : null;
  }

  async #withRetries(send, repeatLost) {
    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt === this.#retries;
      let waitMs = (500 + 500 * Math.random()) * 2 ** attempt;
      try {
        const response = await send();
        if (response.ok) return response;
        waitMs = Math.max(waitMs, 1000 * (Number(response.headers.get("Retry-After")) || 0));
        if (isLast || !RETRIED_STATUSES.has(response.status) || waitMs > LONGEST_WAIT_MS) {
          throw new ApiError(response.status, await errorOf(response));
        }
      } catch (error) {
        if (error instanceof CqeError) throw error;
        if (isLast || !repeatLost) {
          const { host } = new URL(this.#base);
          const reason = error.cause?.message || error.cause?.code || error.message;
          throw new CqeError(`There was no answer from ${host}: ${reason}.`);
        }
      }
      await sleep(waitMs);
    }
  }

  #send(url, options) {
    const signal = AbortSignal.timeout(this.#timeoutMs);
    return fetch(url, { signal, ...options, redirect: "manual" });
  }
}

function described(recording) {
  return { contentType: recording.type || undefined, sizeBytes: recording.size };
}

function bytes(content) {
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}

function hex(buffer) {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function randomId() {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}

function fromBase64(text) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function queryOf(params) {
  return Object.entries(params)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]);
}

async function errorOf(response) {
  try {
    return (await response.json()).error ?? {};
  } catch {
    return {};
  }
}

function sleep(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
