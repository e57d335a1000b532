"""Language models behind one seam: wire formats, the offline rules model, tokens, prices, retries."""
