"""Charts: from numbers to the attributes of SVG elements."""
