"""Import formats: readers that turn bytes into records of the native form, as a stream."""
