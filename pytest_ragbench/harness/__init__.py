"""The pytest side: options, collection, items, the controller, the scheduler."""
