"""The inbox: pages for a browser, rendered here and kept up to date as HTML over a stream."""
