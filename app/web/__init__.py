"""All shared Flask: envelope, errors, fields, paging, signed blobs; knows no room."""
