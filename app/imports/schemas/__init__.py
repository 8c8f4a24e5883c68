"""Schemas of import requests and of the records that imports accept."""
