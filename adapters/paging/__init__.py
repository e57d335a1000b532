"""Paging, taken apart by noun: names, detection, records, envelope, links, totals, markers, addresses.

Pure: values in, values out. `adapters.pagination` is the door; nothing outside of it imports from here.
"""
