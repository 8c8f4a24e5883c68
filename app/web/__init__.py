"""Flask code that all packages share: envelope, errors, schemas, OpenAPI, file transfers."""
