// ContentCoding
