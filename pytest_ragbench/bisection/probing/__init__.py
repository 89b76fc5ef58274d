"""What runs inside a probe. The folder is on the path of every Python that a probe starts, and imports only itself."""
