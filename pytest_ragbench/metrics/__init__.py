"""Which chunk is relevant to which gold source, and what a ranking scores."""
