"""Storage of recordings and exports: local files, or an object storage such as Azure Blob or S3."""
