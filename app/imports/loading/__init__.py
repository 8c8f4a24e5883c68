"""Loading of records: read documents, normalise and validate each record, write it, count it."""
