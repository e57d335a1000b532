"""Reading of pages: records, totals, cursors, links and the next page."""
