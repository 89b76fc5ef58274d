"""The commands of `ragbench`, a module a group: flags, and what is printed; the work is done in the layers below."""
