"""Opening of the storage that the settings name."""

from pathlib import Path
from urllib.parse import SplitResult, parse_qs, urlsplit

from app.core.settings import Settings, SettingsError
from app.core.storage.files import LocalFiles
from app.core.storage.objects import Storage

_CLOUD_SCHEMES = ("azure", "s3")


def open_storage(settings: Settings) -> Storage:
    """Open the storage of the settings: a folder, a container of Azure Blob, or a bucket of S3.

    Raises:
        SettingsError: the folder cannot be made.
    """
    folder = storage_folder(settings)
    if folder is None:
        return _open_cloud(settings, urlsplit(settings.storage_url))
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        variable = "CQE_STORAGE_URL" if settings.storage_url else "CQE_DATA_DIR"
        message = f"{variable}: the folder {folder} cannot be made: {error.strerror}"
        raise SettingsError(message) from error
    return LocalFiles(folder, settings.min_free_bytes, is_mounted=bool(settings.storage_url))


def storage_folder(settings: Settings) -> Path | None:
    """Return the folder of a storage of files; None for an object storage."""
    address = urlsplit(settings.storage_url)
    if address.scheme in _CLOUD_SCHEMES:
        return None
    return Path(address.path) if address.path else settings.data_dir.resolve() / "storage"


def _open_cloud(settings: Settings, address: SplitResult) -> Storage:
    # These import the client library, which a storage of files does not need.
    from app.core.storage.cloud import CloudStorage  # noqa: PLC0415
    from app.core.storage.providers import AzureContainer, S3Bucket  # noqa: PLC0415

    options = {name: values[0].rstrip("/") for name, values in parse_qs(address.query).items()}
    path = address.path.strip("/")
    provider: AzureContainer | S3Bucket
    if address.scheme == "azure":
        container, _, prefix = path.partition("/")
        provider = AzureContainer(
            account=address.netloc,
            container=container,
            endpoint=options.get("endpoint", f"https://{address.netloc}.blob.core.windows.net"),
            key=settings.storage_secret,
        )
    else:
        prefix = path
        region = options.get("region", "us-east-1")
        endpoint = options.get("endpoint", f"https://s3.{region}.amazonaws.com")
        provider = S3Bucket(
            bucket=address.netloc,
            region=region,
            endpoint=endpoint,
            public_endpoint=options.get("public", endpoint),
            access_key=settings.storage_access_key,
            secret=settings.storage_secret,
        )
    spool = settings.data_dir.resolve() / "spool"
    return CloudStorage(provider, prefix, spool, settings.min_free_bytes)
